-- The newest version of a profile that an account uses: its own, or else its org's.
select p.id as profile_id, p.org_id, p.account_id, p.name, p.version, p.definition, p.enabled, p.disabled_reason, p.created_at, p.created_by
from agent_profiles p
join accounts a on a.id = %(account_id)s and p.org_id = a.org_id
where p.name = %(name)s and (p.account_id is null or p.account_id = a.id)
order by p.account_id nulls last, p.version desc
limit 1
