-- Whose a rule is, whichever kind it is.
select org_id from rules where id = %(rule_id)s
union all
select org_id from llm_rules where id = %(rule_id)s
