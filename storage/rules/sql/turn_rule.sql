-- Turns a rule of an org on or off, whichever kind it is; a reason says why it is off.
with conditions as (
  update rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
  where id = %(rule_id)s and org_id = %(org_id)s
  returning id
), words as (
  update llm_rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
  where id = %(rule_id)s and org_id = %(org_id)s
  returning id
)
select id from conditions union all select id from words
