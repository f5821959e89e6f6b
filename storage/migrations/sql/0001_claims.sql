-- What a claim allows, and what follows when a job dies.

-- Holds a claim for the length of the caller's transaction; refuses when it is lost (promise P4). The share lock keeps
-- the rescue away until the transaction ends, so that check and write cannot be separated.
create function postroom.hold_claim(held_job uuid, held_token uuid) returns void
language plpgsql security definer set search_path = pg_catalog, public as $$
begin
  perform from jobs
  where id = held_job and claim_token = held_token
    and (not postroom.is_tenant() or org_id = postroom.current_org())
  for share;
  if not found then
    raise exception 'the claim on job % is lost', held_job using errcode = 'PR001';
  end if;
end
$$;
grant execute on function postroom.hold_claim(uuid, uuid) to postroom_ledger, postroom_tenant;

-- What an operator can do about a dead job, by the reason it died for.
create function postroom.action_plan(error jsonb) returns text
language sql immutable as $$
  select case error ->> 'code'
    when 'uncertain' then 'An outside effect may or may not have happened. Look at the provider, then decide: it happened, or it did not.'
    when 'invalid' then 'The payload cannot be understood. Replay with a mended payload, or discard.'
    when 'unknown_type' then 'No worker knows this job type. Deploy a worker that does, then replay; or discard.'
    when 'poison' then 'The job took its worker process down each time. Find out why before replaying; or discard.'
    else 'The job failed at every attempt. Mend the cause, then replay; or discard.'
  end
$$;

-- Whoever makes a job dead, the dead letter with its whole story is written in the same transaction, and the task that
-- raises the alert is queued. A dead alert raises none, or one bad alert would raise alerts for ever.
create function postroom.bury() returns trigger
language plpgsql security definer set search_path = pg_catalog, public as $$
begin
  insert into audit_log (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  values ('job.deadlettered', new.org_id, new.project_id, new.actor_type, new.actor_id, new.request_id, new.correlation_id,
          new.id, new.job_type, new.attempt, jsonb_build_object('error', new.error));
  insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, history, effects)
  values (
    new.org_id, new.id, new.job_type, new.queue, new.payload, new.payload_version,
    coalesce(new.error ->> 'reason', 'unknown'), new.error, postroom.action_plan(new.error),
    coalesce((select jsonb_agg(jsonb_build_object('at', a.at, 'event', a.event, 'attempt', a.attempt, 'data', a.data) order by a.id)
              from audit_log a where a.job_id = new.id), '[]'),
    coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'mode', k.mode, 'status', k.status, 'last_seen_at', k.last_seen_at))
              from idempotency_keys k where k.job_id = new.id and k.kind = 'effect'), '[]'))
  on conflict (job_id) do nothing;
  if new.job_type <> 'deadletter.quarantine' and exists (select from job_types where name = 'deadletter.quarantine') then
    perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
      'job_type', 'deadletter.quarantine', 'org_id', new.org_id, 'project_id', new.project_id, 'payload', jsonb_build_object('job_id', new.id),
      'request_id', new.request_id, 'correlation_id', new.correlation_id, 'parent_id', new.id)));
  end if;
  return null;
end
$$;
create trigger jobs_bury after update of state on jobs for each row
  when (new.state = 'dead' and old.state <> 'dead') execute function postroom.bury();
create trigger jobs_born_dead after insert on jobs for each row
  when (new.state = 'dead') execute function postroom.bury();

-- Frees the concurrency keys that these jobs held and calls the job that has waited longest for each; the caller
-- publishes what it returns, and if it cannot, the relay does when the patience is over.
create function postroom.free_slots(of_jobs uuid[]) returns table (job_id uuid, job_type text, queue text)
language sql security definer set search_path = pg_catalog, public as $$
  with freed as (
    delete from serial_slots s where s.job_id = any (of_jobs) returning s.serial_key
  ),
  next_in_line as (
    select distinct on (w.serial_key) w.serial_key, w.job_id
    from serial_waiters w join freed using (serial_key)
    order by w.serial_key, w.since, w.job_id
  ),
  called as (
    delete from serial_waiters w using next_in_line n
    where w.serial_key = n.serial_key and w.job_id = n.job_id
    returning w.job_id
  )
  update jobs j set published_at = now(), attention_at = now() + interval '10 seconds'
  from called c
  where j.id = c.job_id and j.state = 'queued' and j.run_at <= now()
  returning j.id, j.job_type, j.queue
$$;
grant execute on function postroom.free_slots(uuid[]) to postroom_ledger;

-- Makes a held job succeeded inside the holder's own transaction, so that its domain rows and its settlement commit
-- together. Returns the jobs that waited for its concurrency key.
create function postroom.settle_held(held_job uuid, held_token uuid, job_output jsonb, cost bigint, began_at timestamptz)
returns table (job_id uuid, job_type text, queue text)
language plpgsql security definer set search_path = pg_catalog, public as $$
#variable_conflict use_column
declare
  done jobs;
  held jobs;
begin
  perform postroom.hold_claim(held_job, held_token);
  select * into held from jobs where id = held_job;
  update jobs set attempt = attempt + case held.state when 'claimed' then 1 else 0 end, started_at = coalesce(started_at, began_at), state = 'succeeded', finished_at = now(), attention_at = null, claim_token = null, worker_id = null,
    claimed_at = null, published_at = null, output = job_output, cost_microcents = cost_microcents + cost
  where id = held_job and claim_token = held_token
  returning * into done;
  update idempotency_keys k set status = 'succeeded', last_seen_at = now(), result_ref = jsonb_build_object('job_id', done.id)
  where done.guarded and k.org_id = done.org_id and k.key = done.idempotency_key and k.job_id = done.id;
  if held.state = 'claimed' then
    insert into audit_log (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
    values (began_at, 'job.started', done.org_id, done.project_id, done.actor_type, done.actor_id, done.request_id, done.correlation_id,
            done.id, done.job_type, done.attempt, jsonb_build_object('worker', held.worker_id, 'claimed_at', held.claimed_at));
  end if;
  insert into audit_log (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  values ('job.succeeded', done.org_id, done.project_id, done.actor_type, done.actor_id, done.request_id, done.correlation_id,
          done.id, done.job_type, done.attempt, '{}');
  return query select w.job_id, w.job_type, w.queue from postroom.free_slots(array[done.id]) as w;
end
$$;
grant execute on function postroom.settle_held(uuid, uuid, jsonb, bigint, timestamptz) to postroom_ledger, postroom_tenant;
