-- How a job leaves a claim: what spends no attempt is counted, times are the database's, a job that dies has failed first.

-- How often a job went back to its queue without having spent an attempt (domain.jobs.lifecycle has the bounds).
alter table jobs add column free_returns integer not null default 0 check (free_returns >= 0);

drop function postroom.leave_claims(
  uuid[], uuid[], text[], timestamptz[], smallint[], smallint[], timestamptz[], jsonb[], jsonb[], bigint[], text[], jsonb[], boolean[],
  text, text, uuid[]
);

-- Writes what becomes of jobs. All arrays are read in parallel; a shorter one is filled up with NULL.
--   job_ids, tokens: a job that is held, and its claim token; no token stands for a queued job, which can only be canceled.
--     A job that does not match (its claim was lost, it was claimed meanwhile, it has ended) is refused; nothing is written of it.
--   states: the new state; NULL is 'succeeded'. run_ats: when a requeued job is due; NULL keeps its time.
--   attempt_deltas, loss_deltas, costs: added to the job's; NULL is 0.
--   began_ats: when the attempt began; NULL for one that did not begin, or whose start is written already.
--   outputs, errors, reasons (of a cancellation): NULL keeps the error and the reason. details: data of the audit event.
--   suspects: whether the job may be what ended its process; NULL is false for a job that was held.
--   by_actor_type, by_actor_id: the actor of the audit events; by default the job's own.
--   besides: jobs that the caller's statement is about to update, and that must not be called to a concurrency key here.
--   return_deltas: 1 for a way back that spends no attempt and is counted (free_returns); NULL is 0.
-- Times are the database's: an error gets the time of the settlement, and an attempt began between its claim and its end, whatever the
-- caller's clock says. A job that dies has job.failed; job.deadlettered follows with its dead letter.
-- Returns a row per refused job ('refused', job_id), and one per job that got a free slot of a concurrency key ('woken' and its
-- hint), which the caller publishes after its commit.
create function postroom.leave_claims(
  job_ids uuid[], tokens uuid[], states text[] default '{}', run_ats timestamptz[] default '{}',
  attempt_deltas smallint[] default '{}', loss_deltas smallint[] default '{}', began_ats timestamptz[] default '{}',
  outputs jsonb[] default '{}', errors jsonb[] default '{}', costs bigint[] default '{}', reasons text[] default '{}',
  details jsonb[] default '{}', suspects boolean[] default '{}',
  by_actor_type text default null, by_actor_id text default null, besides uuid[] default '{}', return_deltas smallint[] default '{}'
)
returns table (what text, job_id uuid, job_type text, queue text, light boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  hooked_types text[] := array(select t.name from job_types t where t.on_end is not null);
  refused uuid[];
  slot_holders uuid[];
  free_keys text[];
  hooked uuid[];
begin
  with asked as materialized (
    select id, token, state, run_at, coalesce(attempt_delta, 0) as attempt_delta, coalesce(loss_delta, 0) as loss_delta,
      coalesce(return_delta, 0) as return_delta, began_at,
      case state when 'succeeded' then coalesce(output, '{}') else output end as output,
      error, coalesce(cost, 0) as cost, reason, detail, suspect,
      -- job.deadlettered comes after job.failed, with the dead letter, by the trigger jobs_move.
      case state when 'succeeded' then 'job.succeeded' when 'queued' then 'job.retried'
        when 'failed' then 'job.failed' when 'dead' then 'job.failed' when 'canceled' then 'job.canceled' end as event
    from (
      select id, token, coalesce(given, 'succeeded') as state, run_at, attempt_delta, loss_delta, began_at, output, error, cost, reason,
        detail, suspect, return_delta
      from unnest(job_ids, tokens, states, run_ats, attempt_deltas, loss_deltas, began_ats, outputs, errors, costs, reasons, details, suspects,
          return_deltas)
        as u (id, token, given, run_at, attempt_delta, loss_delta, began_at, output, error, cost, reason, detail, suspect, return_delta)
    ) as u
  ),
  settled as (
    update jobs j set
      state = a.state,
      -- A claim whose start is not written counts its attempt here, if it began. One that goes back without having begun gives
      -- back an attempt only if the start is written: the process that holds the claim does not always know.
      attempt = greatest(j.attempt + case
        when j.state <> 'claimed' then a.attempt_delta when a.began_at is not null then 1 + a.attempt_delta else 0 end, 0),
      losses = j.losses + a.loss_delta,
      free_returns = j.free_returns + a.return_delta,
      started_at = case when a.began_at is null then j.started_at else least(greatest(a.began_at, j.claimed_at), now()) end,
      suspect = coalesce(a.suspect, a.token is null and j.suspect), claim_token = null, worker_id = null, claimed_at = null, published_at = null,
      run_at = coalesce(a.run_at, j.run_at),
      next_check_at = case when a.state = 'queued' and coalesce(a.run_at, j.run_at) > now() then coalesce(a.run_at, j.run_at) end,
      backlog_since = case when a.state = 'queued' and coalesce(a.run_at, j.run_at) <= now() then coalesce(a.run_at, j.run_at) end,
      parked_by = null,
      finished_at = case a.state when 'queued' then null else now() end,
      output = a.output,
      error = coalesce(a.error || jsonb_build_object('at', now()), j.error),
      cancel_reason = coalesce(a.reason, j.cancel_reason),
      cost_microcents = j.cost_microcents + a.cost
    from asked a
    where j.id = a.id and (j.claim_token = a.token or (a.token is null and j.state = 'queued'))
    returning j.id, a.token, j.org_id, j.project_id, j.job_type, j.state, j.attempt, j.guarded, j.idempotency_key, j.serial_key, j.error,
      j.actor_type, j.actor_id, j.request_id, j.correlation_id, a.event, a.detail, a.attempt_delta,
      case when a.began_at is not null then least(greatest(a.began_at, old.claimed_at), now()) end as began_at,
      old.state as was, old.worker_id as by_worker, old.claimed_at as taken_at,
      -- The start and the success of a quick attempt are one audit entry.
      old.state = 'claimed' and a.state = 'succeeded' and a.began_at is not null and a.attempt_delta = 0 as quick
  ),
  guards as (
    update idempotency_keys k set
      status = case s.state when 'succeeded' then 'succeeded' when 'dead' then 'dead' when 'queued' then 'pending' else 'failed' end,
      last_seen_at = now(), error_ref = s.error,
      result_ref = case s.state when 'succeeded' then jsonb_build_object('job_id', s.id) end
    from settled s
    where s.guarded and k.org_id = s.org_id and k.key = s.idempotency_key and k.job_id = s.id
  ),
  audited as (
    insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
      worker_id, claimed_at, began_at, data)
    select coalesce(began_at, taken_at), case when began_at is null then 'job.claimed' else 'job.started' end,
      org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type,
      attempt - case when began_at is null then 0 else attempt_delta end,
      by_worker, taken_at, null, null
    from settled where was = 'claimed' and not quick
    union all
    select clock_timestamp(), event, org_id, project_id, coalesce(by_actor_type, actor_type), coalesce(by_actor_id, actor_id),
      request_id, correlation_id, id, job_type, attempt,
      case when quick then by_worker end, case when quick then taken_at end, case when quick then began_at end, detail
    from settled where event is not null
  )
  select
    case when found.jobs < cardinality(job_ids) then (
      select array_agg(a.id) from asked a
      where not exists (select from settled s where s.id = a.id and (s.token = a.token or a.token is null))) end,
    found.slot_holders, found.free_keys, found.hooked
  into refused, slot_holders, free_keys, hooked
  from (
    select
      count(*) as jobs,
      array_agg(s.id) filter (where s.serial_key is not null and s.was <> 'queued') as slot_holders,
      array_agg(s.serial_key) filter (where s.serial_key is not null and s.was = 'queued') as free_keys,
      array_agg(s.id) filter (where s.job_type = any (hooked_types) and s.state <> 'queued') as hooked
    from settled s
  ) as found;

  -- Before the slots: a slow hook then holds no concurrency key.
  if hooked is not null then
    perform postroom.run_end_hooks(hooked);
  end if;
  if refused is not null then
    return query select 'refused', r.id, null::text, null::text, false from unnest(refused) as r (id);
  end if;
  if slot_holders is not null then
    return query select 'woken', w.job_id, w.job_type, w.queue, w.light from postroom.free_slots(slot_holders) as w;
  end if;
  if free_keys is not null then
    -- A job that ends in the queue may have been called for its key: then another one must be.
    perform postroom.call_waiters(free_keys, besides || job_ids);
  end if;
end
$$;
grant execute on function postroom.leave_claims(
  uuid[], uuid[], text[], timestamptz[], smallint[], smallint[], timestamptz[], jsonb[], jsonb[], bigint[], text[], jsonb[], boolean[],
  text, text, uuid[], smallint[]
) to postroom_ledger;

-- When a job last changed: each of its moves has an entry in the audit log.
create function postroom.updated_at(of_job uuid) returns timestamptz
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select max(a.at) from audit_entries a where a.job_id = of_job
$$;
grant execute on function postroom.updated_at(uuid) to postroom_ledger;

-- When the work of a step began; `at` is when its result was kept.
alter table job_steps add column started_at timestamptz;

-- Expired jobs behind a gate or a concurrency key: nobody claims them, so the relay looks for them.
create index jobs_parked_expiry on jobs (expires_at) where parked_by is not null and expires_at is not null;
