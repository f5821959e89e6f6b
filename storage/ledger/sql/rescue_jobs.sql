-- Gives back the jobs of processes that fell silent and of attempts that outran their deadline. A process that still renews
-- its lease keeps its jobs, and they are looked at again when the lease could end. A job that keeps losing its process is poison.
with overdue as (
  select j.*, w.lease_until
  -- Through an array, which the planner takes for short; a limit that it does not know it takes for a tenth of the table.
  from unnest(array(
    select id from jobs where attention_at <= now() and state in ('claimed', 'running')
    order by attention_at limit %(batch)s for update skip locked
  )) as n (id)
  join jobs j on j.id = n.id
  left join workers w on w.id = j.worker_id
  for update of j  -- locked already; this reads them as they were then, and not as they were when the statement began
),
kept as (
  update jobs j set attention_at = least(o.lease_until, o.claimed_at + o.deadline) + interval '1 second'
  from overdue o
  where j.id = o.id and o.lease_until > now() and o.claimed_at + o.deadline > now()
  returning j.id
),
lost as (
  select o.*, o.state as was,
    case when o.lease_until > now() then 'deadline' else 'lost' end as cause,
    case
      when o.cancel_requested_at is not null then 'canceled'
      when o.state = 'claimed' then 'queued'
      when o.losses + 1 >= %(max_losses)s or o.attempt >= o.max_attempts then 'dead'
      else 'queued'
    end as fate
  from overdue o where not (o.lease_until is not null and o.lease_until > now() and o.claimed_at + o.deadline > now())
),
moved as (
  update jobs j set
    state = l.fate, losses = j.losses + case l.was when 'running' then 1 else 0 end,
    suspect = l.was = 'claimed' and l.cause = 'lost',
    claim_token = null, worker_id = null, claimed_at = null, published_at = null,
    attention_at = null, backlog_since = case l.fate when 'queued' then j.run_at end,
    finished_at = case l.fate when 'queued' then null else now() end,
    cancel_reason = case l.fate when 'canceled' then coalesce(j.cancel_reason, 'canceled') else j.cancel_reason end,
    error = case when l.was = 'running' then jsonb_build_object(
      'code', case when l.fate = 'dead' and l.cause = 'lost' then 'poison' else l.cause end,
      'reason', case l.cause when 'deadline' then 'the attempt outran its deadline' else 'the worker process was lost' end,
      'attempt', j.attempt) else j.error end
  from lost l
  where j.id = l.id
  returning j.*, l.cause, l.was, old.worker_id as by_worker, old.claimed_at as taken_at
),
guards as (
  update idempotency_keys k set
    status = case m.state when 'queued' then 'pending' when 'dead' then 'dead' else 'failed' end,
    last_seen_at = now(), error_ref = m.error
  from moved m
  where m.guarded and k.org_id = m.org_id and k.key = m.idempotency_key and k.job_id = m.id
),
told as (
  insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    worker_id, claimed_at, data)
  select taken_at, 'job.claimed', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    by_worker, null::timestamptz, null::jsonb
  from moved where was = 'claimed'
  union all
  select clock_timestamp(), case state when 'queued' then 'job.retried' else 'job.canceled' end,
    org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    null, null, jsonb_build_object('cause', cause, 'losses', losses, 'error', error)
  from moved where state <> 'dead'
)
select 'rescued' as what, id, job_type, queue, org_id, state, false as light from moved
union all
select 'woken', w.job_id, w.job_type, w.queue, null, 'queued', w.light
from (select array_agg(id) as ids from moved where serial_key is not null) as held
cross join lateral postroom.free_slots(held.ids) as w
