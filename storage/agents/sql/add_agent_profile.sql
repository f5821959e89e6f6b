-- Saves a new version of a profile, which is enabled; the versions before it stay for the runs that used them.
-- The advisory lock of the caller keeps two versions from having the same number.
insert into agent_profiles (org_id, account_id, name, version, definition, created_by)
select o.id, %(account_id)s, %(name)s, 1 + coalesce((
    select max(p.version) from agent_profiles p
    where p.org_id = o.id and p.account_id is not distinct from %(account_id)s and p.name = %(name)s), 0), %(definition)s, %(created_by)s
from orgs o
where o.id = %(org_id)s
returning id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
