-- The enabled standing orders in scope for a message, widest first.
select d.content
from directions d
join accounts a on a.id = %(account_id)s and d.org_id = a.org_id
where d.enabled and (d.account_id is null or d.account_id = a.id)
  and (d.scope in ('global', 'account') or (d.scope = 'domain' and d.scope_ref = lower(%(domain)s)) or (d.scope = 'sender' and d.scope_ref = lower(%(sender)s)))
order by array_position(array['global', 'account', 'domain', 'sender'], d.scope), d.id
