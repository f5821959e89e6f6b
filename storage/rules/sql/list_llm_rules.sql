-- The enabled rules for the model that are in scope for a message: the org's, the account's, its sender's, its domain's.
select r.id, r.scope, r.content, case r.scope when 'account' then r.account_id::text else coalesce(r.scope_ref, '') end as scope_ref
from llm_rules r
join accounts a on a.id = %(account_id)s and r.org_id = a.org_id
where r.enabled and (r.account_id is null or r.account_id = a.id)
  and (r.scope in ('global', 'account') or (r.scope = 'domain' and r.scope_ref = lower(%(domain)s)) or (r.scope = 'sender' and r.scope_ref = lower(%(sender)s)))
order by array_position(array['global', 'account', 'domain', 'sender'], r.scope), r.id
