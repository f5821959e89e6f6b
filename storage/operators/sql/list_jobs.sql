-- Jobs as an operator lists them, the newest first.
select id as job_id, job_type, queue, state, org_id, attempt, max_attempts, priority, created_at, run_at, finished_at,
  coalesce(error ->> 'reason', cancel_reason) as reason
from jobs
where (%(states)s::text[] is null or state = any (%(states)s::text[]))
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and (%(queue)s::text is null or queue = %(queue)s::text)
  and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
order by created_at desc, id desc
limit %(limit)s
