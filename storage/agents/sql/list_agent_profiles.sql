-- The newest version of each profile, or, with a name, all versions of it, the newest first.
select id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
from agent_profiles p
where (%(org_id)s::uuid is null or org_id = %(org_id)s)
  and case when %(name)s::text is not null then name = %(name)s else version = (
    select max(n.version) from agent_profiles n
    where n.org_id = p.org_id and n.account_id is not distinct from p.account_id and n.name = p.name) end
order by org_id, account_id nulls first, name, version desc
