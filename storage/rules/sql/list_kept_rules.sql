-- The rules of an org as their owners look at them: those with conditions and those in words, on or off.
with kept as (
  select r.id as rule_id, 'when' as kind, r.account_id, r.name, r.priority, r.enabled, r.disabled_reason, r.definition,
         null as scope, null as scope_ref, null as content, r.label_ids, r.created_at, r.updated_at
  from rules r
  where r.org_id = %(org_id)s
  union all
  select t.id, 'tell', t.account_id, t.name, null, t.enabled, t.disabled_reason, null,
         t.scope, t.scope_ref, t.content, t.label_ids, t.created_at, t.updated_at
  from llm_rules t
  where t.org_id = %(org_id)s
)
select rule_id, kind, account_id, name, priority, enabled, disabled_reason, definition, scope, scope_ref, content, label_ids,
       created_at, updated_at
from kept
where (%(rule_id)s::uuid is null or rule_id = %(rule_id)s)
  and (%(account_id)s::uuid is null or account_id is null or account_id = %(account_id)s)
  and (%(enabled)s::boolean is null or enabled = %(enabled)s)
order by kind desc, priority, account_id nulls last, rule_id
limit %(limit)s
