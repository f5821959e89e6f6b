-- Writes what became of jobs, each named by id and claim token: a claim that was lost matches nothing, and the caller sees
-- which of its jobs were refused. A job that comes straight from its claim gets the start of its attempt in its
-- trail too, with its own time; where it succeeded, both are one entry. Returns the refused jobs and those that waited for their concurrency keys.
with verdicts as materialized (
  select id, token, state, run_at, coalesce(attempt_delta, 0) as attempt_delta, coalesce(loss_delta, 0) as loss_delta, began_at,
    case state when 'succeeded' then coalesce(output, '{}') else output end as output, error, coalesce(cost, 0) as cost, reason, detail,
    -- A dead job's event is written with its dead letter, by the database.
    case state when 'succeeded' then 'job.succeeded' when 'queued' then 'job.retried' when 'failed' then 'job.failed'
      when 'canceled' then 'job.canceled' end as event
  from (
    -- What is the same for all jobs is not given: they succeeded without an output, and their numbers are zero.
    select id, token, coalesce(given, 'succeeded') as state, run_at, attempt_delta, loss_delta, began_at, output, error, cost, reason, detail
    from unnest(
      %(job_ids)s::uuid[], %(tokens)s::uuid[], %(states)s::text[], %(run_ats)s::timestamptz[], %(attempt_deltas)s::smallint[],
      %(loss_deltas)s::smallint[], %(started_ats)s::timestamptz[],
      %(outputs)s::jsonb[], %(errors)s::jsonb[], %(costs)s::bigint[], %(reasons)s::text[], %(details)s::jsonb[]
    ) as v (id, token, given, run_at, attempt_delta, loss_delta, began_at, output, error, cost, reason, detail)
  ) as v
),
settled as (
  update jobs j set
    state = v.state,
    -- A claim that began and was not known to counts its attempt here. One that goes back without having begun gives back an
    -- attempt only where the ledger had counted it, which its process cannot always know.
    attempt = greatest(j.attempt + case
      when j.state <> 'claimed' then v.attempt_delta when v.began_at is not null then 1 + v.attempt_delta else 0 end, 0),
    losses = j.losses + v.loss_delta,
    started_at = coalesce(v.began_at, j.started_at),
    suspect = false, claim_token = null, worker_id = null, claimed_at = null, published_at = null,
    run_at = coalesce(v.run_at, j.run_at),
    attention_at = case when v.state = 'queued' and coalesce(v.run_at, j.run_at) > now() then coalesce(v.run_at, j.run_at) end,
    backlog_since = case when v.state = 'queued' and coalesce(v.run_at, j.run_at) <= now() then coalesce(v.run_at, j.run_at) end,
    finished_at = case v.state when 'queued' then null else now() end,
    output = v.output,
    error = coalesce(v.error, j.error),
    cancel_reason = coalesce(v.reason, j.cancel_reason),
    cost_microcents = j.cost_microcents + v.cost
  from verdicts v
  where j.id = v.id and j.claim_token = v.token
  returning j.id, v.token, j.org_id, j.project_id, j.job_type, j.state, j.attempt, j.guarded, j.idempotency_key, j.serial_key, j.error,
    j.actor_type, j.actor_id, j.request_id, j.correlation_id, v.event, v.detail, v.began_at, v.attempt_delta,
    old.state as was, old.worker_id as by_worker, old.claimed_at as taken_at,
    -- Its start and its success are one entry of the trail.
    old.state = 'claimed' and v.state = 'succeeded' and v.began_at is not null and v.attempt_delta = 0 as quick
),
guards as (
  update idempotency_keys k set
    status = case s.state when 'succeeded' then 'succeeded' when 'dead' then 'dead' when 'queued' then 'pending' else 'failed' end,
    last_seen_at = now(), error_ref = s.error,
    result_ref = case s.state when 'succeeded' then jsonb_build_object('job_id', s.id) end
  from settled s
  where s.guarded and k.org_id = s.org_id and k.key = s.idempotency_key and k.job_id = s.id
),
told as (
  insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    worker_id, claimed_at, began_at, data)
  select coalesce(began_at, taken_at), case when began_at is null then 'job.claimed' else 'job.started' end,
    org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type,
    attempt - case when began_at is null then 0 else attempt_delta end,
    by_worker, taken_at, null, null
  from settled where was = 'claimed' and not quick
  union all
  select clock_timestamp(), event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    case when quick then by_worker end, case when quick then taken_at end, case when quick then began_at end, detail
  from settled where event is not null
)
select 'refused' as what, v.id, null as job_type, null as queue, false as light
from verdicts v where not exists (select from settled s where s.id = v.id and s.token = v.token)
union all
select 'woken', w.job_id, w.job_type, w.queue, w.light
from (select array_agg(id) as ids from settled where serial_key is not null having count(*) > 0) as held
cross join lateral postroom.free_slots(held.ids) as w
