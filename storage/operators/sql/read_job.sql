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
