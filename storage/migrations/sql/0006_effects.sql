-- Effects: how long a call may last, since when its key is known to the provider, and what it sent (promise P3).

-- Until when the call that an intent announced may be under way, by the database's clock.
alter table idempotency_keys add column may_last_until timestamptz;
-- When the first call under this key could begin: a provider remembers a key for a time only.
alter table idempotency_keys add column begun_at timestamptz;
-- What an effect with a native key sends: the same key must come with the same bytes. Kept while the effect is in doubt.
alter table idempotency_keys add column request bytea;

drop function postroom.begin_effect(uuid, uuid, text, text, interval);

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before: nothing (act), a
-- result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is still alive (busy), an end
-- that nobody knows (unknown), or the key of a job (taken).
--   lasts: how long the call may take, from now on; NULL for a caller that does not say.
--   in_flight_for: how long the call of the earlier attempt may still be under way; not above zero when it cannot be.
--   claim_left: how long the caller's attempt may still take. known_for: since when the provider may know the key.
--   first_request: the bytes of the earlier attempt, which a repeated call must send.
-- Each lock is taken by a statement of its own: a statement that waited for one decides by what it saw before it waited.
create function postroom.begin_effect(
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
begin
  select j.org_id, j.claimed_at + j.deadline into org, ends_at from jobs j
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
    and (not postroom.is_tenant() or j.org_id = postroom.current_org())
  for share;
  if org is null then
    return;
  end if;
  insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at, begun_at, may_last_until, request)
  values (org, effect_key, 'effect', strategy, 'running', held_job, held_token, now() + keep_for,
    clock_timestamp(), clock_timestamp() + lasts, begin_effect.request)
  on conflict (org_id, key) do nothing;
  if found then
    return query select 'act', null::jsonb, null::interval, ends_at - clock_timestamp(), null::interval, null::bytea;
    return;
  end if;
  select k.* into stood from idempotency_keys k where k.org_id = org and k.key = effect_key for update;
  if stood.key is null then
    raise exception 'the key of an effect was deleted while it began' using errcode = '40001';
  end if;
  if stood.kind <> 'effect' then
    return query select 'taken', null::jsonb, null::interval, null::interval, null::interval, null::bytea;
    return;
  end if;
  -- Jobs that were claimed together have the same token: it names a claim only with its job.
  is_alive := exists (select from jobs o where o.id = stood.job_id and o.claim_token = stood.owner_token and o.id <> held_job);
  acts := stood.status = 'failed';
  if acts or (stood.status = 'running' and not is_alive) then
    update idempotency_keys k set
      last_seen_at = now(), status = 'running', owner_token = held_token, job_id = held_job,
      begun_at = case when acts then clock_timestamp() else k.begun_at end,
      may_last_until = case when acts then clock_timestamp() + lasts else k.may_last_until end,
      request = case when acts then begin_effect.request else k.request end
    where k.org_id = org and k.key = effect_key;
  else
    -- Whoever relies on a result keeps it: purging goes by the job that a key names, and by its time.
    update idempotency_keys k set
      last_seen_at = now(), expires_at = greatest(k.expires_at, now() + keep_for),
      job_id = case when stood.status <> 'succeeded'
        or exists (select from jobs o where o.id = stood.job_id and (o.finished_at is null or o.state = 'dead')) then k.job_id else held_job end
    where k.org_id = org and k.key = effect_key;
  end if;
  return query select
    case
      when acts then 'act'
      when stood.status = 'succeeded' then 'done'
      when stood.status = 'running' then case when is_alive then 'busy' else 'find_out' end
      else 'unknown'
    end,
    stood.result_ref, stood.may_last_until - clock_timestamp(), ends_at - clock_timestamp(),
    clock_timestamp() - coalesce(stood.begun_at, stood.first_seen_at), case when not acts then stood.request end;
end
$$;
grant execute on function postroom.begin_effect(uuid, uuid, text, text, interval, interval, bytea) to postroom_ledger, postroom_tenant;

-- Announces that the call of an intent begins now and may take so long, under the claim that began it. Returns how long the attempt
-- may still take; NULL when the claim is lost.
create function postroom.announce_call(held_job uuid, held_token uuid, effect_key text, lasts interval) returns interval
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.org_id, j.claimed_at + j.deadline as ends_at from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  announced as (
    update idempotency_keys k set may_last_until = clock_timestamp() + lasts
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.status = 'running' and k.owner_token = held_token
      and k.job_id = held_job
    returning c.ends_at
  )
  select ends_at - clock_timestamp() from announced
$$;
grant execute on function postroom.announce_call(uuid, uuid, text, interval) to postroom_ledger, postroom_tenant;

-- Writes how an effect ended, under the claim that began it; false when that claim is lost.
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
      status = ending, result_ref = outcome, error_ref = problem || jsonb_build_object('at', now()), last_seen_at = now(), request = null
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.owner_token = held_token
      and k.job_id = held_job
    returning k.key
  )
  select exists (select from ended)
$$;
