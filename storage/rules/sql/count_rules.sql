-- How many rules of both kinds an org has.
select (select count(*) from rules where org_id = %(org_id)s) + (select count(*) from llm_rules where org_id = %(org_id)s) as rules
