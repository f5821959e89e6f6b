-- name: add_rule
-- Saves a rule of an account, or of the whole org when it names none.
insert into rules (org_id, account_id, name, priority, definition, enabled)
select o.id, %(account_id)s, %(name)s, %(priority)s, %(definition)s, %(enabled)s from orgs o where o.id = %(org_id)s
returning id

-- name: list_rules
-- The rules that apply to an account: its own and its org's.
select r.id as rule_id, r.account_id, r.name, r.priority, r.definition, r.enabled, r.disabled_reason
from rules r
join accounts a on a.id = %(account_id)s and r.org_id = a.org_id
where (r.account_id is null or r.account_id = a.id) and (r.enabled or %(disabled_too)s)
order by r.priority, r.account_id nulls last, r.id

-- name: switch_rule
-- Turns a rule on or off; a reason says why it is off.
update rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
where id = %(rule_id)s
returning id

-- name: add_llm_rule
-- Saves a rule in plain words; a scope that names a sender or domain keeps it in lower case.
insert into llm_rules (org_id, account_id, scope, scope_ref, name, content, label_ids)
select o.id, %(account_id)s, %(scope)s, lower(%(scope_ref)s), %(name)s, %(content)s, %(label_ids)s::text[] from orgs o where o.id = %(org_id)s
returning id

-- name: switch_llm_rule
-- Turns a rule for the model on or off; a reason says why it is off.
update llm_rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
where id = %(rule_id)s
returning id

-- name: add_direction
-- Saves a standing order to the model.
insert into directions (org_id, account_id, scope, scope_ref, content)
select o.id, %(account_id)s, %(scope)s, lower(%(scope_ref)s), %(content)s from orgs o where o.id = %(org_id)s
returning id

-- name: list_directions
-- The enabled standing orders in scope for a message, widest first.
select d.content
from directions d
join accounts a on a.id = %(account_id)s and d.org_id = a.org_id
where d.enabled and (d.account_id is null or d.account_id = a.id)
  and (d.scope in ('global', 'account') or (d.scope = 'domain' and d.scope_ref = lower(%(domain)s)) or (d.scope = 'sender' and d.scope_ref = lower(%(sender)s)))
order by array_position(array['global', 'account', 'domain', 'sender'], d.scope), d.id

-- name: list_llm_rules
-- The enabled rules for the model that are in scope for a message: the org's, the account's, its sender's, its domain's.
select r.id, r.scope, r.content, case r.scope when 'account' then r.account_id::text else coalesce(r.scope_ref, '') end as scope_ref
from llm_rules r
join accounts a on a.id = %(account_id)s and r.org_id = a.org_id
where r.enabled and (r.account_id is null or r.account_id = a.id)
  and (r.scope in ('global', 'account') or (r.scope = 'domain' and r.scope_ref = lower(%(domain)s)) or (r.scope = 'sender' and r.scope_ref = lower(%(sender)s)))
order by array_position(array['global', 'account', 'domain', 'sender'], r.scope), r.id
