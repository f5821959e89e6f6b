-- The rules that apply to an account: its own and its org's.
select r.id as rule_id, r.account_id, r.name, r.priority, r.definition, r.enabled, r.disabled_reason
from rules r
join accounts a on a.id = %(account_id)s and r.org_id = a.org_id
where (r.account_id is null or r.account_id = a.id) and (r.enabled or %(disabled_too)s)
order by r.priority, r.account_id nulls last, r.id
