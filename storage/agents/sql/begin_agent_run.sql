-- Begins the run of a job, or finds the one that an earlier attempt has begun. One that ended with its job goes on when the job is tried
-- once more. It keeps the profile that it began with: the conversation so far was held by its rules. The run of a replay may have the answers
-- of the job that it does again. A killed attempt counts the durations of its kept steps.
insert into agent_runs (org_id, account_id, job_id, gmail_thread_id, gmail_message_id, profile, profile_version, profile_id, model)
select a.org_id, a.id, %(job_id)s, %(thread_id)s, %(message_id)s, %(profile)s, %(profile_version)s, %(profile_id)s, %(model)s
from accounts a where a.id = %(account_id)s
on conflict (org_id, job_id) do update set
  started_at = case when agent_runs.status = 'running' then agent_runs.started_at else now() end,
  worked = case
    when agent_runs.status = 'running' then agent_runs.worked + (
      select coalesce(sum(s.at - s.started_at), '0')
      from job_steps s
      where s.job_id = agent_runs.job_id and s.at > agent_runs.worked_until
    )
    else '0'
  end,
  status = 'running',
  stopped_by = null,
  reason = null,
  finished_at = null
returning
  id as run_id,
  profile_version,
  status,
  worked,
  xmax <> 0 or exists (select from jobs j where j.id = %(job_id)s and j.replay_of is not null) as may_have_answers
