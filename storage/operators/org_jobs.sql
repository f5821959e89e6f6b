-- name: read_job
-- One job as its org may see it. What is larger than the answer may carry is left out and named.
select id as job_id, job_type, queue, state, priority, payload_version, attempt, max_attempts, project_id, parent_id, replay_of,
  actor_type, actor_id, request_id, correlation_id, created_at, run_at, expires_at, started_at, finished_at,
  cancel_requested_at, cancel_reason,
  case when length(payload::text) <= %(longest)s then payload end as payload,
  case when length(progress::text) <= %(longest)s then progress end as progress,
  case when length(output::text) <= %(longest)s then output end as output,
  case when length(error::text) <= %(longest)s then error end as error,
  array_remove(array[
    case when length(payload::text) > %(longest)s then 'payload' end,
    case when length(progress::text) > %(longest)s then 'progress' end,
    case when length(output::text) > %(longest)s then 'output' end,
    case when length(error::text) > %(longest)s then 'error' end], null) as left_out
from jobs where id = %(job_id)s

-- name: list_troubled_jobs_of_org
-- The same for jobs that failed, died or were canceled, by their own index.
select id as job_id, job_type, queue, state, priority, attempt, max_attempts, created_at, run_at, started_at, finished_at,
  left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason
from jobs
where org_id = %(org_id)s and (error is not null or cancel_reason is not null)
  and (%(states)s::text[] is null or state = any (%(states)s::text[]))
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at < coalesce(%(before)s::timestamptz, 'infinity')
  and (created_at, id) < (coalesce(%(last_created_at)s::timestamptz, 'infinity'), coalesce(%(last_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by created_at desc, id desc
limit %(limit)s

-- name: list_unfinished_jobs_of_org
-- The same for jobs that have not ended, by the indexes of the waiting states: every unfinished job is in one of them.
select id as job_id, job_type, queue, state, priority, attempt, max_attempts, created_at, run_at, started_at, finished_at,
  left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason
from jobs
where org_id = %(org_id)s and (next_check_at is not null or backlog_since is not null or parked_by is not null)
  and (%(states)s::text[] is null or state = any (%(states)s::text[]))
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at < coalesce(%(before)s::timestamptz, 'infinity')
  and (created_at, id) < (coalesce(%(last_created_at)s::timestamptz, 'infinity'), coalesce(%(last_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by created_at desc, id desc
limit %(limit)s

-- name: list_jobs_of_org
-- Jobs of the tenant's org in any state, the newest first, from a place in the list on. Reads the table: no index has all jobs.
select id as job_id, job_type, queue, state, priority, attempt, max_attempts, created_at, run_at, started_at, finished_at,
  left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason
from jobs
where org_id = %(org_id)s
  and (%(states)s::text[] is null or state = any (%(states)s::text[]))
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at < coalesce(%(before)s::timestamptz, 'infinity')
  and (created_at, id) < (coalesce(%(last_created_at)s::timestamptz, 'infinity'), coalesce(%(last_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by created_at desc, id desc
limit %(limit)s
