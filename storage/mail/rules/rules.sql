-- name: add_rule
-- Saves a rule of an account, or of the whole org when it names none; a domain or an address is kept as they are compared.
insert into rules (org_id, account_id, kind, scope, scope_ref, name, priority, definition, content, enabled)
select o.id, %(account_id)s, %(kind)s, %(scope)s, %(scope_ref)s, %(name)s, %(priority)s, %(definition)s, %(content)s, %(enabled)s
from orgs o where o.id = %(org_id)s
returning id

-- name: list_rules
-- The rules of these kinds that hold for an account's mail of a sender: its own and its org's that are on, widest scope first.
select r.id as rule_id, r.kind, r.account_id, r.name, r.priority, r.definition, r.enabled, r.disabled_reason, r.scope, r.content,
  case r.scope when 'account' then r.account_id::text else coalesce(r.scope_ref, '') end as scope_ref
from rules r
join accounts a on a.id = %(account_id)s and r.org_id = a.org_id
where r.enabled and r.kind = any (%(kinds)s::text[]) and (r.account_id is null or r.account_id = a.id)
  and (r.scope in ('global', 'account') or r.scope_ref = case r.scope when 'domain' then %(domain)s else %(sender)s end)
order by r.priority, case r.kind when 'when' then r.account_id end nulls last,
  array_position(array['global', 'account', 'domain', 'sender'], r.scope), r.id
limit %(limit)s
