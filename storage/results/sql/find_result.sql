-- What is known of a task id: of the job with that id; else of the job that a client's message with that task id became or found, or
-- why it was refused. No row when nothing is known.
with known as (
  select 1 as rank, %(job_id)s::uuid as job_id, null::jsonb as refusal, null::bigint as id
  where exists (select from jobs where id = %(job_id)s::uuid)
  union all
  select 2, r.job_id, r.refusal, r.id from result_requests r where r.task_id = %(task_id)s
)
select k.job_id, k.refusal, j.state, j.attempt, j.error, j.cancel_reason, j.finished_at,
  octet_length(j.output::text) as output_bytes,
  case when octet_length(j.output::text) <= %(largest)s then j.output end as output
from known k left join jobs j on j.id = k.job_id
order by k.rank, k.id desc limit 1
