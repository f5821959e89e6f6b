-- name: count_rules
-- How many rules of both kinds an org has.
select (select count(*) from rules where org_id = %(org_id)s) + (select count(*) from llm_rules where org_id = %(org_id)s) as rules

-- name: find_org_of_rule
-- Whose a rule is, whichever kind it is.
select org_id from rules where id = %(rule_id)s
union all
select org_id from llm_rules where id = %(rule_id)s

-- name: replace_rule
-- Puts another definition in the place of a rule's; why it was off no longer holds.
update rules set name = %(name)s, priority = %(priority)s, definition = %(definition)s, enabled = %(enabled)s, disabled_reason = null, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s
returning id

-- name: replace_llm_rule
-- Puts other words in the place of a rule's; why it was off no longer holds.
update llm_rules set name = %(name)s, account_id = %(account_id)s, scope = %(scope)s, scope_ref = lower(%(scope_ref)s), content = %(content)s,
  label_ids = %(label_ids)s::text[], enabled = %(enabled)s, disabled_reason = null, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s
returning id

-- name: turn_rule
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

-- name: remove_rule
-- Removes a rule of an org, whichever kind it is.
with conditions as (
  delete from rules where id = %(rule_id)s and org_id = %(org_id)s returning id
), words as (
  delete from llm_rules where id = %(rule_id)s and org_id = %(org_id)s returning id
)
select id from conditions union all select id from words

-- name: find_vanished_labels
-- Which of these labels no mailbox has any more: the account's, or for a rule of the whole org any account's.
select n.label_id, (select min(v.name) from labels v where v.org_id = %(org_id)s and v.gmail_label_id = n.label_id) as name
from unnest(%(ids)s::text[]) as n (label_id)
where not exists (
  select from labels l
  where l.org_id = %(org_id)s and l.gmail_label_id = n.label_id and l.deleted_at is null
    and (%(account_id)s::uuid is null or l.account_id = %(account_id)s))
order by n.label_id

-- name: list_kept_rules
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
