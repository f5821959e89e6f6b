-- Effects: once, or known to be unknown (docs/explanation/effects.md). An effect is kept from its end on, while any job that has begun it
-- may go on, and what was sent while its end is not known.
-- An effect is in doubt when nobody knows whether it happened and its job has ended, so that no attempt will find out.

-- How long an effect is kept after somebody last relied on it: `KEEP_EFFECT_FOR` of domain/jobs/effects.py.
create or replace function postroom.keep_effects_for() returns interval
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select interval '30 days'
$$;
grant execute on function postroom.keep_effects_for to postroom_ledger;

-- Whether a job, its retry or its replay may still be run: it has not succeeded and its row is there, or it has an open dead letter.
create or replace function postroom.may_go_on(job uuid) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select exists (select from jobs j where j.id = job and j.state <> 'succeeded')
    or exists (select from dead_letters d where d.job_id = job and d.state = 'open')
$$;
grant execute on function postroom.may_go_on to postroom_ledger;

-- Whether an effect must be kept beyond its time: it is in doubt, or a job that has begun it may go on.
create or replace function postroom.is_needed(effect idempotency_keys) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select effect.kind = 'effect' and (
    effect.status in ('running', 'unknown')
    or postroom.may_go_on(effect.job_id)
    or exists (select from effect_jobs e where e.org_id = effect.org_id and e.key = effect.key and postroom.may_go_on(e.job_id)))
$$;
grant execute on function postroom.is_needed to postroom_ledger;

-- From when on nobody has recorded what was done with something of an org that was written at a time: it was there when the org's ledger
-- was restored.
create or replace function postroom.lost_since(of_org uuid, written_at timestamptz) returns timestamptz
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select min(lost_from) from restorations where org_id = of_org and restored_at > written_at
$$;

-- When the first of the jobs was written that led to a job: its parents, what it replays, and what its correlation names. Such a job leads
-- anew to what it led to in the lost time. Of an org that has moved, a parent of the system org is in the ledger that the org has left, and may be
-- as old as any: without a move, a parent is kept for as long as its child has not ended.
create or replace function postroom.caused_at(job jobs) returns timestamptz
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  with recursive causes as (
    select job.created_at, job.parent_id, job.replay_of, job.correlation_id
    union
    select j.created_at, j.parent_id, j.replay_of, j.correlation_id
    from causes c
    join jobs j on j.id in (c.parent_id, c.replay_of, case when pg_input_is_valid(c.correlation_id, 'uuid') then c.correlation_id::uuid end)
  )
  select case
    when job.parent_id is not null and not exists (select from jobs p where p.id = job.parent_id) then '-infinity'
    else (select min(created_at) from causes) end
$$;

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before: nothing (act), a
-- result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is still alive (busy), or an end
-- that nobody knows (unknown).
--   lasts: how long the call may take, from now on; NULL for a caller that does not say.
--   in_flight_for: how long the call of the earlier attempt may still be under way; not above zero when it cannot be.
--   claim_left: how long the caller's attempt may still take. known_for: since when the provider may know the key.
--   first_request: the bytes of the earlier attempt, which a repeated call must send.
-- A job of before a restoration, or one that follows from it, may have had an effect that the restored ledger does not know, or knows as
-- failed: where it would act, it finds out first, and the provider's key may be as old as what was lost.
-- Each lock is taken by a statement of its own: a statement that waited for one decides by what it saw before it waited.
-- Of two jobs that have begun an effect the key names one: the one that acts, while it may go on. The other is kept beside it.
create or replace function postroom.begin_effect(
  held_job uuid, held_token uuid, effect_key text, strategy text, keep_for interval, lasts interval default null, request bytea default null
)
returns table (what text, result jsonb, in_flight_for interval, claim_left interval, known_for interval, first_request bytea)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org uuid;
  ends_at timestamptz;
  stood idempotency_keys;
  is_alive boolean;
  acts boolean;
  named uuid;
  doubted_from timestamptz;
begin
  select j.org_id, j.claimed_at + j.deadline,
    case when exists (select from restorations r where r.org_id = j.org_id) then postroom.lost_since(j.org_id, postroom.caused_at(j)) end
  into org, ends_at, doubted_from
  from jobs j
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
    and (not postroom.is_tenant() or j.org_id = postroom.current_org())
  for share;
  if org is null then
    return;
  end if;
  insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at, begun_at, may_last_until, request)
  values (org, effect_key, 'effect', strategy, 'running', held_job, held_token, now() + keep_for,
    coalesce(doubted_from, clock_timestamp()), case when doubted_from is null then clock_timestamp() + lasts end, begin_effect.request)
  on conflict (org_id, key, kind) do nothing;
  if found then
    return query select case when doubted_from is null then 'act' else 'find_out' end, null::jsonb, null::interval,
      ends_at - clock_timestamp(), clock_timestamp() - doubted_from, null::bytea;
    return;
  end if;
  select k.* into stood from idempotency_keys k where k.org_id = org and k.key = effect_key and k.kind = 'effect' for update;
  if stood.key is null then
    raise exception 'the key of an effect was deleted while it began' using errcode = '40001';
  end if;
  -- Jobs that were claimed together have the same token: it names a claim only with its job.
  is_alive := exists (select from jobs o where o.id = stood.job_id and o.claim_token = stood.owner_token and o.id <> held_job);
  doubted_from := postroom.lost_since(org, stood.last_seen_at);
  acts := stood.status = 'failed' and doubted_from is null;
  if stood.status = 'failed' or (stood.status = 'running' and not is_alive) then
    update idempotency_keys k set
      last_seen_at = now(), expires_at = greatest(k.expires_at, now() + keep_for),
      status = 'running', owner_token = held_token, job_id = held_job,
      begun_at = case when acts then clock_timestamp() when stood.status = 'failed' then doubted_from else k.begun_at end,
      may_last_until = case when acts then clock_timestamp() + lasts else k.may_last_until end,
      request = case when acts then begin_effect.request else k.request end
    where k.org_id = org and k.key = effect_key and k.kind = 'effect'
    returning k.job_id into named;
  else
    -- Whoever relies on a result keeps it: purging goes by the jobs that may go on, and by its time.
    update idempotency_keys k set
      last_seen_at = now(), expires_at = greatest(k.expires_at, now() + keep_for),
      job_id = case when stood.status = 'succeeded' and not postroom.may_go_on(k.job_id) then held_job else k.job_id end
    where k.org_id = org and k.key = effect_key and k.kind = 'effect'
    returning k.job_id into named;
  end if;
  if stood.job_id <> held_job then
    delete from effect_jobs e where e.org_id = org and e.key = effect_key and not postroom.may_go_on(e.job_id);
    insert into effect_jobs (org_id, key, job_id)
    select org, effect_key, o.id from (select case when named = held_job then stood.job_id else held_job end as id) as o
    where postroom.may_go_on(o.id)
    on conflict do nothing;
  end if;
  return query select
    case
      when acts then 'act'
      when stood.status = 'succeeded' then 'done'
      when stood.status = 'failed' then 'find_out'
      when stood.status = 'running' then case when is_alive then 'busy' else 'find_out' end
      else 'unknown'
    end,
    stood.result_ref, stood.may_last_until - clock_timestamp(), ends_at - clock_timestamp(),
    clock_timestamp() - coalesce(stood.begun_at, stood.first_seen_at), case when not acts then stood.request end;
end
$$;
grant execute on function postroom.begin_effect to postroom_ledger, postroom_tenant;

-- Announces that the call of an intent begins now, may take so long and sends `request`, under the claim that began it. NULL leaves
-- what was sent. A request that differs is that of a new call, for the first one certainly did nothing: the key's age counts from now.
-- Returns how long the attempt may still take; NULL when the claim is lost.
create or replace function postroom.announce_call(held_job uuid, held_token uuid, effect_key text, lasts interval, request bytea) returns interval
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.org_id, j.claimed_at + j.deadline as ends_at from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  announced as (
    update idempotency_keys k set
      may_last_until = clock_timestamp() + lasts,
      begun_at = case when announce_call.request <> k.request then clock_timestamp() else k.begun_at end,
      request = coalesce(announce_call.request, k.request)
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.status = 'running' and k.owner_token = held_token
      and k.job_id = held_job
    returning c.ends_at
  )
  select ends_at - clock_timestamp() from announced
$$;
grant execute on function postroom.announce_call to postroom_ledger, postroom_tenant;

-- Writes how an effect ended, under the claim that began it; false when that claim is lost. While nobody knows the end, what was sent
-- is kept: whoever asks the provider may have to know it.
create or replace function postroom.finish_effect(held_job uuid, held_token uuid, effect_key text, ending text, outcome jsonb, problem jsonb)
returns boolean
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.org_id from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  ended as (
    update idempotency_keys k set
      status = ending, result_ref = outcome, error_ref = problem || jsonb_build_object('at', now()), last_seen_at = now(),
      expires_at = greatest(k.expires_at, now() + postroom.keep_effects_for()), request = case when ending = 'unknown' then k.request end
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.owner_token = held_token
      and k.job_id = held_job
    returning k.key
  )
  select exists (select from ended)
$$;
grant execute on function postroom.finish_effect to postroom_ledger, postroom_tenant;

-- Whether nobody works any more on an effect that may have happened: it is unknown, or the call of a job that has ended or is gone.
create or replace function postroom.is_in_doubt(effect idempotency_keys) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select effect.kind = 'effect' and case effect.status
    when 'unknown' then true
    when 'running' then coalesce(effect.may_last_until, effect.last_seen_at + interval '1 hour') < now()
      and not exists (select from jobs j where j.id = effect.job_id and j.finished_at is null)
    else false end
$$;
grant execute on function postroom.is_in_doubt to postroom_ledger;

-- What a job `maintenance.resolve_effect` must know to ask the provider; no row when the claim is lost or the effect is not in doubt.
create or replace function postroom.read_doubt(held_job uuid, held_token uuid, effect_key text)
returns table (job_type text, payload jsonb, payload_version integer, last_seen_at timestamptz)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.job_type, d.payload, d.payload_version, k.last_seen_at
  from jobs j
  join idempotency_keys k on k.org_id = j.org_id and k.key = effect_key
  cross join lateral (
    select o.job_type, o.payload, o.payload_version from jobs o where o.id = k.job_id and o.org_id = k.org_id
    union all
    -- Of a job past its retention, its letter knows the payload.
    select l.job_type, l.payload, l.payload_version from dead_letters l where l.job_id = k.job_id and l.org_id = k.org_id
    limit 1
  ) as d
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running') and j.job_type = 'maintenance.resolve_effect'
    and (not postroom.is_tenant() or j.org_id = postroom.current_org()) and postroom.is_in_doubt(k)
$$;
grant execute on function postroom.read_doubt to postroom_ledger, postroom_tenant;

-- What was sent, of an effect that a job `maintenance.resolve_effect` finds out about; NULL when nothing is kept, the claim is lost, or
-- the effect is not in doubt.
create or replace function postroom.read_doubt_request(held_job uuid, held_token uuid, effect_key text) returns bytea
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select k.request
  from jobs j
  join idempotency_keys k on k.org_id = j.org_id and k.key = effect_key and k.kind = 'effect'
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running') and j.job_type = 'maintenance.resolve_effect'
    and (not postroom.is_tenant() or j.org_id = postroom.current_org()) and postroom.is_in_doubt(k)
$$;
grant execute on function postroom.read_doubt_request to postroom_ledger, postroom_tenant;

-- Writes what a job `maintenance.resolve_effect` has found out, unless somebody has touched the effect since it was read; false then,
-- or when the claim is lost.
create or replace function postroom.conclude_doubt(
  held_job uuid, held_token uuid, effect_key text, seen_at timestamptz, ending text, outcome jsonb, problem jsonb
) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org uuid;
begin
  select j.org_id into org from jobs j
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running') and j.job_type = 'maintenance.resolve_effect'
    and (not postroom.is_tenant() or j.org_id = postroom.current_org())
  for share;
  if org is null or ending not in ('succeeded', 'failed', 'unknown') then
    return false;
  end if;
  update idempotency_keys k
  set status = ending, result_ref = outcome, error_ref = problem || jsonb_build_object('at', now()), last_seen_at = now(),
    expires_at = greatest(k.expires_at, now() + postroom.keep_effects_for()), request = case when ending = 'unknown' then k.request end
  where k.org_id = org and k.key = effect_key and k.last_seen_at = seen_at and postroom.is_in_doubt(k);
  return found;
end
$$;
grant execute on function postroom.conclude_doubt to postroom_ledger, postroom_tenant;
