-- How a job leaves a claim, or ends in the queue: postroom.leave_claims is the only writer.

-- What an operator can do about a dead job, by the reason it died for.
create or replace function postroom.action_plan(error jsonb) returns text
language sql immutable as $$
  select case error ->> 'code'
    when 'uncertain' then 'An outside effect may or may not have happened. Look at the provider, then decide: it happened, or it did not.'
    when 'invalid' then 'The payload cannot be understood. Replay with a mended payload, or discard.'
    when 'unknown_type' then 'No worker knows this job type. Deploy a worker that does, then replay; or discard.'
    when 'poison' then 'The job took its worker process down each time. Find out why before replaying; or discard.'
    else 'The job failed at every attempt. Mend the cause, then replay; or discard.'
  end
$$;

-- Writes the dead letter of a job with its history and effects, the audit event, and the job that raises the alert, in the transaction
-- that makes the job dead. The alert's own job raises none when it dies, or one bad alert would raise alerts for ever.
-- An id is free again when its job has left the ledger: a closed letter of an earlier job with the same id and org is written anew.
create or replace function postroom.write_dead_letter(died jobs) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  values ('job.deadlettered', died.org_id, died.project_id, died.actor_type, died.actor_id, died.request_id, died.correlation_id,
          died.id, died.job_type, died.attempt, jsonb_build_object('error', died.error));
  insert into dead_letters as d (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, history, effects)
  values (
    died.org_id, died.id, died.job_type, died.queue, died.payload, died.payload_version,
    coalesce(died.error ->> 'reason', 'unknown'), died.error, postroom.action_plan(died.error),
    coalesce((select jsonb_agg(jsonb_build_object('at', a.at, 'event', a.event, 'attempt', a.attempt, 'data', a.data) order by a.id)
              from audit_log a where a.job_id = died.id and a.org_id = died.org_id), '[]'),
    coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'mode', k.mode, 'status', k.status, 'last_seen_at', k.last_seen_at))
              from idempotency_keys k where k.job_id = died.id and k.org_id = died.org_id and k.kind = 'effect'), '[]'))
  on conflict (job_id, org_id) do update set
    job_type = excluded.job_type, queue = excluded.queue, payload = excluded.payload, payload_version = excluded.payload_version,
    reason = excluded.reason, error = excluded.error, plan = excluded.plan, history = excluded.history, effects = excluded.effects,
    state = 'open', replay_job_id = null, resolution = null, resolved_by = null, resolved_at = null, created_at = now()
  where d.state <> 'open';
  if died.job_type <> 'deadletter.quarantine' and exists (select from job_types where name = 'deadletter.quarantine') then
    perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
      'job_type', 'deadletter.quarantine', 'org_id', died.org_id, 'project_id', died.project_id, 'payload', jsonb_build_object('job_id', died.id),
      'request_id', died.request_id, 'correlation_id', died.correlation_id, 'parent_id', died.id)));
  end if;
end
$$;

-- Refuses every move of a job's state that the domain does not allow (MOVES in domain/jobs/lifecycle.py), and lets no job be dead
-- without a dead letter, whoever writes.
create or replace function postroom.check_move() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and old.state = new.state then
    return null;
  end if;
  -- A dead job that comes from another cell brings its letter along.
  if tg_op = 'INSERT' and postroom.is_moving() then
    return null;
  end if;
  if tg_op = 'UPDATE' and (old.finished_at is not null or (old.state, new.state) not in (
    ('queued', 'claimed'), ('queued', 'running'), ('queued', 'canceled'),
    ('claimed', 'running'), ('claimed', 'queued'), ('claimed', 'succeeded'), ('claimed', 'failed'), ('claimed', 'dead'), ('claimed', 'canceled'),
    ('running', 'queued'), ('running', 'succeeded'), ('running', 'failed'), ('running', 'dead'), ('running', 'canceled'))) then
    raise exception 'state: a job cannot go from % to %', old.state, new.state using errcode = 'PR004';
  end if;
  if new.state = 'dead' then
    perform postroom.write_dead_letter(new);
  end if;
  return null;
end
$$;
-- The condition lets the moves of a job's usual life pass without a call.
create or replace trigger jobs_move after update of state on jobs for each row
  when (new.state = 'dead' or old.finished_at is not null or (old.state = 'queued' and new.finished_at is not null and new.state <> 'canceled')
        or (old.state = 'running' and new.state = 'claimed'))
  execute function postroom.check_move();
create or replace trigger jobs_dead_on_arrival after insert on jobs for each row
  when (new.state = 'dead') execute function postroom.check_move();

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
--   gates: a gate that the job closes as it leaves (scope, key, cause, reason, until, grows); NULL for none.
-- Times are the database's: an error gets the time of the settlement, and an attempt began between its claim and its end, whatever the
-- caller's clock says. A job that dies has job.failed; job.deadlettered follows with its dead letter.
-- Returns a row per refused job ('refused', job_id), and one per job that got a free slot of a concurrency key, or that a hook has put in
-- place ('woken' and its hint), which the caller publishes after its commit.
create or replace function postroom.leave_claims(
  job_ids uuid[], tokens uuid[], states text[] default '{}', run_ats timestamptz[] default '{}',
  attempt_deltas smallint[] default '{}', loss_deltas smallint[] default '{}', began_ats timestamptz[] default '{}',
  outputs jsonb[] default '{}', errors jsonb[] default '{}', costs bigint[] default '{}', reasons text[] default '{}',
  details jsonb[] default '{}', suspects boolean[] default '{}',
  by_actor_type text default null, by_actor_id text default null, besides uuid[] default '{}', return_deltas smallint[] default '{}',
  gates jsonb[] default '{}'
)
returns table (what text, job_id uuid, job_type text, queue text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  hooked_types text[];
  heard_types text[];
  refused uuid[];
  slot_holders uuid[];
  free_keys text[];
  hooked uuid[];
  children uuid[];
begin
  select array_agg(t.name), array_agg(t.name) filter (where t.hears_success) into hooked_types, heard_types
  from job_types t where t.on_end is not null;
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
      -- In sub-selects, for the planner must not see how many jobs are given: it would plan each call anew.
      from unnest((select job_ids), (select tokens), (select states), (select run_ats), (select attempt_deltas), (select loss_deltas),
          (select began_ats), (select outputs), (select errors), (select costs), (select reasons), (select details), (select suspects),
          (select return_deltas))
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
    -- By the array, too: the planner takes it for ten jobs, and would join them to all of a table that was small when it planned.
    where j.id = a.id and j.id = any (job_ids) and (j.claim_token = a.token or (a.token is null and j.state = 'queued'))
    returning j.id, a.token, j.org_id, j.project_id, j.job_type, j.state, j.attempt, j.guarded, j.idempotency_key, j.serial_key, j.error,
      j.parent_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id, a.event, a.detail, a.attempt_delta,
      case when a.began_at is not null then least(greatest(a.began_at, old.claimed_at), now()) end as began_at,
      old.state as was, old.worker_id as by_worker, old.claimed_at as taken_at,
      -- The start and the success of a quick attempt are one audit entry.
      old.state = 'claimed' and a.state = 'succeeded' and a.began_at is not null and a.attempt_delta = 0 as quick
  ),
  guards as (
    update idempotency_keys k set
      status = case s.state when 'succeeded' then 'succeeded' when 'dead' then 'dead' when 'queued' then 'pending' else 'failed' end,
      last_seen_at = case s.state when 'queued' then k.last_seen_at else now() end, error_ref = s.error,
      result_ref = case s.state when 'succeeded' then jsonb_build_object('job_id', s.id) end
    from settled s
    where s.guarded and k.org_id = s.org_id and k.key = s.idempotency_key and k.kind <> 'effect' and k.job_id = s.id
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
    found.slot_holders, found.free_keys, found.hooked, found.children
  into refused, slot_holders, free_keys, hooked, children
  from (
    select
      count(*) as jobs,
      array_agg(s.id) filter (where s.serial_key is not null and s.was <> 'queued') as slot_holders,
      array_agg(s.serial_key) filter (where s.serial_key is not null and s.was = 'queued') as free_keys,
      array_agg(s.id) filter (where s.job_type = any (case s.state when 'succeeded' then heard_types else hooked_types end)
        and s.state <> 'queued') as hooked,
      -- Who waits for a job has enqueued it: the ends of all other jobs cost no look at job_waiters.
      array_agg(s.id) filter (where s.parent_id is not null and s.state <> 'queued') as children
    from settled s
  ) as found;

  if cardinality(gates) > 0 then
    perform postroom.close_gate(g.scope, g.key, g.cause, g.reason, g.until, 'postroom', g.grows)
    from (
      select distinct on (g.scope, g.key, g.cause) g.*
      from unnest(job_ids, gates) as u (id, gate), jsonb_to_record(u.gate) as g (scope text, key text, cause text, reason text, until timestamptz, grows boolean)
      where u.gate is not null and not (u.id = any (coalesce(refused, '{}')))
      order by g.scope, g.key, g.cause, g.until desc nulls first
    ) as g;
  end if;
  -- Before the slots: a slow hook then holds no concurrency key.
  if children is not null then
    children := (select array_agg(w.job_id) from job_waiters w where w.job_id = any (children));
  end if;
  if hooked is not null or children is not null then
    return query select 'woken', h.* from postroom.run_end_hooks(hooked, children) as h;
  end if;
  if refused is not null then
    return query select 'refused', r.id, null::text, null::text from unnest(refused) as r (id);
  end if;
  if slot_holders is not null then
    return query select 'woken', w.job_id, w.job_type, w.queue from postroom.free_slots(slot_holders) as w;
  end if;
  if free_keys is not null then
    -- A job that ends in the queue may have been called for its key: then another one must be.
    perform postroom.call_waiters(free_keys, besides || job_ids);
  end if;
end
$$;
grant execute on function postroom.leave_claims to postroom_ledger;

-- Makes a held job succeeded inside the holder's own transaction, so that its domain rows and its settlement commit
-- together. Returns the jobs that waited for its concurrency key or that a hook has put in place ('woken'), and of these and of `fresh`, the jobs
-- that the transaction has enqueued, those that are claimed for the same worker under the new token ('born', postroom.claim_fresh). Raises
-- PR002 for an output that is no object, a cost below zero, and a time that Python could not read: whoever reads the audit log would fail.
create or replace function postroom.settle_held(
  held_job uuid, held_token uuid, job_output jsonb, cost bigint, began_at timestamptz,
  fresh uuid[] default '{}', new_token uuid default null, served text[] default '{}', most integer default 0, lease interval default '60 seconds'
)
returns table (what text, job_id uuid, job_type text, queue text, born postroom.claimed_job)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  start timestamptz;
  refused text;
  of_worker uuid;
  of_org uuid;
begin
  perform postroom.hold_claim(held_job, held_token);
  refused := case
    when jsonb_typeof(job_output) <> 'object' then 'output: is no JSON object'
    when cost < 0 then 'cost: is below zero'
    when began_at not between '0001-01-02 00:00+00' and '9999-12-30 00:00+00' then 'began_at: is no time of the years 1 to 9999'
  end;
  if refused is not null then
    raise exception '%', refused using errcode = 'PR002';
  end if;
  -- A job that succeeded has a start in its audit log: a caller that does not say when it began has begun by now.
  select j.worker_id, j.org_id, case when j.state = 'claimed' then coalesce(settle_held.began_at, clock_timestamp()) end
  into of_worker, of_org, start from jobs j where j.id = held_job;
  for what, job_id, job_type, queue in
    select w.* from postroom.leave_claims(array[held_job], array[held_token], began_ats => array[start], outputs => array[job_output],
      costs => array[cost], details => array['{}'::jsonb]) as w
    where w.what = 'woken'
  loop
    fresh := fresh || job_id;
    return next;
  end loop;
  if most > 0 and fresh <> '{}' then
    return query
    select 'born', c.job_id, c.job_type::text, c.queue::text, c
    from postroom.claim_fresh(of_worker, of_org, fresh, new_token, served, most, lease) as c;
  end if;
end
$$;
grant execute on function postroom.settle_held to postroom_ledger, postroom_tenant;

-- When a job last changed: each of its moves has an entry in the audit log.
create or replace function postroom.updated_at(of_job uuid) returns timestamptz
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select max(a.at) from audit_entries a where a.job_id = of_job
$$;
grant execute on function postroom.updated_at to postroom_ledger;
