-- name: add_agent_profile
-- Saves a new version of a profile, which is enabled; the versions before it stay for the runs that used them.
-- The advisory lock of the caller keeps two versions from having the same number.
insert into agent_profiles (org_id, account_id, name, version, definition, created_by)
select o.id, %(account_id)s, %(name)s, 1 + coalesce((
    select max(p.version) from agent_profiles p
    where p.org_id = o.id and p.account_id is not distinct from %(account_id)s and p.name = %(name)s), 0), %(definition)s, %(created_by)s
from orgs o
where o.id = %(org_id)s
returning id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by

-- name: find_agent_profile
-- The newest version of a profile that an account uses: its own, or else its org's; without an account the org's.
select p.id as profile_id, p.org_id, p.account_id, p.name, p.version, p.definition, p.enabled, p.disabled_reason, p.created_at, p.created_by
from agent_profiles p
where p.org_id = %(org_id)s and p.name = %(name)s and (p.account_id is null or p.account_id = %(account_id)s)
order by p.account_id nulls last, p.version desc
limit 1

-- name: find_run_profile
-- The version of a profile that the latest run of some jobs began with, whatever has become of the profile since.
select p.id as profile_id, p.org_id, p.account_id, p.name, p.version, p.definition, p.enabled, p.disabled_reason, p.created_at, p.created_by
from agent_runs r
join agent_profiles p on p.id = r.profile_id
where r.org_id = %(org_id)s and r.job_id = any (%(job_ids)s::uuid[]) and r.profile = %(name)s
order by r.started_at desc
limit 1

-- name: list_agent_profiles
-- The newest version of each profile after a position: an org's own before those of its mailboxes.
select id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
from agent_profiles p
where (%(of_org)s::uuid is null or org_id = %(of_org)s)
  and (org_id, coalesce(account_id, '00000000-0000-0000-0000-000000000000'), name) > (%(org_id)s, %(account_id)s, %(name)s)
  and version = (
    select max(n.version) from agent_profiles n
    where n.org_id = p.org_id and n.account_id is not distinct from p.account_id and n.name = p.name)
order by org_id, account_id nulls first, name
limit %(limit)s

-- name: list_profile_versions
-- All versions of the profiles of a name after a position, the newest first: the org's own before those of its mailboxes.
select id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
from agent_profiles
where org_id = %(org_id)s and name = %(name)s
  and (coalesce(account_id, '00000000-0000-0000-0000-000000000000'), -version) > (%(account_id)s, -%(version)s::integer)
order by account_id nulls first, version desc
limit %(limit)s

-- name: switch_agent_profile
-- Turns the newest version of a profile on or off, with the reason for its owner.
update agent_profiles set enabled = %(enabled)s, disabled_reason = %(reason)s
where id = (
  select p.id from agent_profiles p
  where p.org_id = %(org_id)s and p.account_id is not distinct from %(account_id)s and p.name = %(name)s
  order by p.version desc limit 1)
returning id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
