-- The version of a profile that the run of a job began with, whatever has become of the profile since. A run of an older release names it
-- by name and version only; where both the account and its org have that version, it is the account's.
select p.id as profile_id, p.org_id, p.account_id, p.name, p.version, p.definition, p.enabled, p.disabled_reason, p.created_at, p.created_by
from agent_runs r
join agent_profiles p on p.org_id = r.org_id and p.name = r.profile and p.version = r.profile_version
  and (p.account_id is null or p.account_id = r.account_id) and (r.profile_id is null or p.id = r.profile_id)
where r.job_id = %(job_id)s and r.account_id = %(account_id)s
order by p.account_id nulls last
limit 1
