-- Removes a rule of an org, whichever kind it is.
with conditions as (
  delete from rules where id = %(rule_id)s and org_id = %(org_id)s returning id
), words as (
  delete from llm_rules where id = %(rule_id)s and org_id = %(org_id)s returning id
)
select id from conditions union all select id from words
