-- What a claim allows, and how many jobs of a concurrency key may be claimed.

-- Holds a claim for the length of the caller's transaction; refuses when it is lost (promise P4). The share lock keeps
-- the rescue away until the transaction ends, so that check and write cannot be separated, and so does it who cancels the job. Returns
-- why the job should stop, or NULL.
create or replace function postroom.hold_claim(held_job uuid, held_token uuid) returns text
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  reason text;
begin
  select case when cancel_requested_at is not null then coalesce(cancel_reason, 'canceled') end into reason from jobs
  where id = held_job and claim_token = held_token
    and (not postroom.is_tenant() or org_id = postroom.current_org())
  for share;
  if not found then
    raise exception 'the claim on job % is lost', held_job using errcode = 'PR001';
  end if;
  return reason;
end
$$;
grant execute on function postroom.hold_claim to postroom_ledger, postroom_tenant, postroom_auditor;

-- The same without a lock, for who only reads: the claim may be lost at any time after.
create or replace function postroom.look_at_claim(held_job uuid, held_token uuid) returns text
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  reason text;
begin
  select case when cancel_requested_at is not null then coalesce(cancel_reason, 'canceled') end into reason from jobs
  where id = held_job and claim_token = held_token
    and (not postroom.is_tenant() or org_id = postroom.current_org());
  if not found then
    raise exception 'the claim on job % is lost', held_job using errcode = 'PR001';
  end if;
  return reason;
end
$$;
grant execute on function postroom.look_at_claim to postroom_ledger, postroom_tenant, postroom_auditor;

-- Writes when claimed jobs began. One that has ended meanwhile, lost its claim, or is locked by a transaction of its own
-- handler is passed over: nobody may wait here for a handler. A function, so that its caller need not be allowed to choose the
-- time of an entry. Returns the jobs whose start was written.
create or replace function postroom.start_jobs(job_ids uuid[], tokens uuid[], started_ats timestamptz[]) returns setof uuid
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with begun as (
    select * from unnest((select job_ids), (select tokens), (select started_ats)) as b (id, token, at)
  ),
  free as (
    select j.id, b.at from public.jobs j join begun b on b.id = j.id
    where j.id = any (job_ids) and j.claim_token = b.token and j.state = 'claimed'
    for no key update of j skip locked
  ),
  started as (
    update public.jobs j set state = 'running', attempt = j.attempt + 1, started_at = least(greatest(f.at, j.claimed_at), now())
    from free f where j.id = f.id
    returning j.*
  ),
  audited as (
    insert into public.audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
      worker_id, claimed_at, data)
    select started_at, 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
      worker_id, claimed_at, null
    from started
  )
  select id from started
$$;
grant execute on function postroom.start_jobs to postroom_ledger;

-- Claims jobs for a worker in the transaction that has put them in place, so that neither a hint nor a claim of its own is needed: of those
-- that nothing keeps back, the most urgent, at most `most`. A job waits for its hint as ever when its queue is not served there, and while
-- anybody has a backlog in a served queue: the slot is theirs. of_org: of a handler's transaction; null for jobs of all orgs. A handler's
-- transaction takes no slot of a concurrency key, for the next claim of that key would wait for its commit.
-- What this transaction has published, nobody else can have claimed, parked or canceled.
create or replace function postroom.claim_fresh(
  for_worker uuid, of_org uuid, job_ids uuid[], new_token uuid, served text[], most integer, lease interval
)
returns setof postroom.claimed_job
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query
  with fresh as materialized (
    select id, serial_key from jobs
    -- Parameters in sub-selects, for the planner must not see how many are given: it would plan each call anew.
    where id = any (array(select unnest((select job_ids)))) and state = 'queued' and published_at = now()
      and (of_org is null or (org_id = of_org and serial_key is null))
      and queue = any ((select served)::text[]) and (expires_at is null or expires_at > now()) and not suspect and cancel_requested_at is null
      and not exists (select from orgs_over_burst o where o.queue = any ((select served)::text[]))
      and case when exists (select from closed_gates) then postroom.gate_of(org_id, job_type, queue, payload ->> 'account_id') is null else true end
    order by priority desc, id limit (select most) for no key update skip locked
  ),
  slots as materialized (
    select t.of_job from (
      select array_agg(serial_key order by serial_key, id) as keys, array_agg(id order by serial_key, id) as ids
      from fresh where serial_key is not null having count(*) > 0
    ) as w
    cross join lateral postroom.take_slots(w.keys, w.ids) as t
    where t.is_taken
  ),
  claimed as (
    update jobs j set
      state = 'claimed', claim_token = new_token, worker_id = for_worker, claimed_at = now(),
      next_check_at = least(j.next_check_at, now() + least(lease, j.deadline))
    from fresh f where j.id = f.id and (f.serial_key is null or f.id in (select of_job from slots))
    returning j.*
  ),
  guards as (
    update idempotency_keys k set status = 'running'
    from claimed c where c.guarded and k.org_id = c.org_id and k.key = c.idempotency_key and k.kind <> 'effect' and k.job_id = c.id
  )
  select id, job_type, queue, org_id, project_id, payload, payload_version, (attempt + 1)::smallint, max_attempts, losses, deadline, created_at,
    false, suspect, free_returns, retry_base_s, retry_cap_s, actor_type, actor_id, request_id, correlation_id, traceparent
  from claimed;
end
$$;
grant execute on function postroom.claim_fresh to postroom_ledger;

-- The same in a transaction of a handler, for its own job's worker and org.
create or replace function postroom.claim_children(
  held_job uuid, held_token uuid, job_ids uuid[], new_token uuid, served text[], most integer, lease interval
)
returns setof postroom.claimed_job
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform postroom.hold_claim(held_job, held_token);
  return query
  select c.* from jobs j cross join lateral postroom.claim_fresh(j.worker_id, j.org_id, job_ids, new_token, served, most, lease) as c
  where j.id = held_job;
end
$$;
grant execute on function postroom.claim_children to postroom_ledger, postroom_tenant;

-- Locks jobs and their guards until the transaction ends, and returns those that nobody else has locked. What serves all orgs waits for
-- nobody: a tenant may hold a row for as long as its handler runs.
create or replace function postroom.lock_free(of_jobs uuid[]) returns setof uuid
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with free as materialized (
    select id, org_id, idempotency_key, guarded from jobs where id = any (of_jobs) order by id for no key update skip locked
  ),
  guards as materialized (
    select f.id as job_id from free f
    cross join lateral (
      select from idempotency_keys k where k.org_id = f.org_id and k.key = f.idempotency_key and k.kind <> 'effect' and k.job_id = f.id
      limit 1 for no key update of k skip locked
    ) as guard
    where f.guarded
  )
  select f.id from free f
  where not f.guarded or exists (select from guards g where g.job_id = f.id)
    or (
      select true from idempotency_keys k where k.org_id = f.org_id and k.key = f.idempotency_key and k.kind <> 'effect' and k.job_id = f.id
      limit 1) is null
$$;
grant execute on function postroom.lock_free to postroom_ledger;

-- How many jobs of a concurrency key may be held at once: what its job type says today. A key begins with its type's name.
create or replace function postroom.serial_limit(of_key text) returns integer
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce((select t.serial_limit from job_types t where t.name = split_part(of_key, ':', 1)), 1)::int
$$;
grant execute on function postroom.serial_limit to postroom_ledger;

-- Gives out slots of concurrency keys, in the given order, and returns the jobs that got one. Where a key is full, its holders
-- are locked until the caller commits: whoever frees a slot meanwhile waits for that, and then sees the job that the caller
-- has parked. A slot that is being freed is not waited for, because a handler's own transaction may do so; but whoever frees it has looked
-- for parked jobs already. Jobs that wait for such a slot are returned, too, as not taken, to be claimed again soon.
-- Slots are always locked in the order of their keys.
drop function if exists postroom.take_slots(text[], uuid[]);
create function postroom.take_slots(keys text[], job_ids uuid[]) returns table (of_job uuid, is_taken boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  taken uuid[];
  freeing text[];
  full_keys bigint;
begin
  loop
    with wanted as (
      select w.serial_key, w.job_id, row_number() over (partition by w.serial_key order by w.place) as nth
      from unnest((select keys), (select job_ids)) with ordinality as w (serial_key, job_id, place)
    ),
    free as (
      select k.serial_key, f.slot, row_number() over (partition by k.serial_key order by f.slot) as nth, k.room
      from (select d.serial_key, m.most, m.most - (select count(*) from serial_slots s where s.serial_key = d.serial_key) as room
            from (select distinct serial_key from wanted) as d
            cross join lateral (select postroom.serial_limit(d.serial_key) as most) as m) as k
      cross join lateral generate_series(1, k.most) as f (slot)
      where k.room > 0 and not exists (select from serial_slots s where s.serial_key = k.serial_key and s.slot = f.slot)
    ),
    given as (
      insert into serial_slots (serial_key, slot, job_id)
      select serial_key, slot, job_id from wanted join free using (serial_key, nth) where nth <= room order by serial_key, slot
      on conflict do nothing
      returning job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into taken from given g;
    return query select t.id, true from unnest(taken) as t (id);
    select array_agg(w.serial_key order by w.place), array_agg(w.job_id order by w.place) into keys, job_ids
    from unnest(keys, job_ids) with ordinality as w (serial_key, job_id, place) where w.job_id <> all (taken);
    exit when keys is null;
    with held as materialized (
      select s.serial_key from serial_slots s where s.serial_key = any (keys) order by s.serial_key, s.slot for key share skip locked
    )
    select array_agg(k.serial_key) into freeing from (select distinct unnest(keys)) as k (serial_key)
    where (select count(*) from held h where h.serial_key = k.serial_key)
      < (select count(*) from serial_slots s where s.serial_key = k.serial_key);
    select count(*) into full_keys from (select distinct unnest(keys)) as k (serial_key)
    where (select count(*) from serial_slots s where s.serial_key = k.serial_key) >= postroom.serial_limit(k.serial_key);
    exit when full_keys = (select count(distinct k) from unnest(keys) as k);
  end loop;
  return query
  select w.job_id, false from unnest(keys, job_ids) as w (serial_key, job_id) where w.serial_key = any (freeing);
end
$$;
grant execute on function postroom.take_slots to postroom_ledger;

-- Puts jobs that wait for these keys into the backlog, as many as there is room for: for when a job that was called, or could
-- have had the room, ended in another way. A waiter that somebody else has locked is being decided about right now.
-- besides: jobs that the caller's statement is about to move itself.
create or replace function postroom.call_waiters(keys text[], besides uuid[]) returns bigint
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with rooms as (
    select k.serial_key, postroom.serial_limit(k.serial_key) - (select count(*) from serial_slots s where s.serial_key = k.serial_key) as room
    from (select distinct unnest(keys)) as k (serial_key)
  ),
  called as (
    update jobs j set parked_by = null, backlog_since = w.run_at
    from rooms r
    cross join lateral (
      select id, run_at from jobs where parked_by = 'key:' || r.serial_key and id <> all (besides)
      order by priority desc, run_at, id limit greatest(r.room, 0) for update skip locked
    ) as w
    where j.id = w.id
    returning j.id
  )
  select count(*) from called
$$;
grant execute on function postroom.call_waiters to postroom_ledger;

-- Frees the concurrency keys that these jobs held and calls a waiting job for each slot that became free: by priority, then by
-- age. The caller publishes the jobs that are returned. If it cannot, the relay publishes them 10 seconds later.
create or replace function postroom.free_slots(of_jobs uuid[])
returns table (job_id uuid, job_type text, queue text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  freed text[];
begin
  perform from serial_slots s where s.job_id = any (of_jobs) order by s.serial_key, s.slot for update;
  with gone as (delete from serial_slots s where s.job_id = any (of_jobs) returning s.serial_key)
  select array_agg(g.serial_key) into freed from gone g;
  if freed is null then
    return;
  end if;
  return query
  with called as (
    update jobs j set parked_by = null, published_at = now(), next_check_at = now() + interval '10 seconds'
    from (select f.serial_key, count(*) as slots from unnest((select freed)) as f (serial_key) group by f.serial_key) as r
    cross join lateral (
      select w.id from jobs w where w.parked_by = 'key:' || r.serial_key
      order by w.priority desc, w.run_at, w.id limit r.slots for update skip locked
    ) as next_in_line
    where j.id = next_in_line.id
    returning j.id, j.job_type, j.queue
  )
  select c.id, c.job_type::text, c.queue::text from called c;
end
$$;
grant execute on function postroom.free_slots to postroom_ledger;
