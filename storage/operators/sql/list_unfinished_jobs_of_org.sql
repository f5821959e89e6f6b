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
