-- An effect is kept while any job that has begun it may go on, so that none acts again (docs/explanation/effects.md#keys).

-- The jobs that have begun an effect beside the one that its key names: two jobs may want the same effect.
create table effect_jobs (
  org_id uuid not null references orgs (id) not enforced,  -- as in idempotency_keys
  key text not null,
  job_id uuid not null,
  primary key (org_id, key, job_id)
);
create index effect_jobs_job on effect_jobs (job_id);
call postroom.fence_table('effect_jobs', 'org_id', 'select');
grant select, update, delete on effect_jobs to postroom_ledger;
grant select on effect_jobs to postroom_tenant;

-- Whether a job, its retry or its replay may still be run: it has not succeeded and its row is there, or it has an open dead letter.
create function postroom.may_go_on(job uuid) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select exists (select from jobs j where j.id = job and j.state <> 'succeeded')
    or exists (select from dead_letters d where d.job_id = job and d.state = 'open')
$$;
revoke execute on function postroom.may_go_on(uuid) from public;
grant execute on function postroom.may_go_on(uuid) to postroom_ledger;

-- Whether an effect must be kept beyond its time: it is in doubt, or a job that has begun it may go on.
create function postroom.is_needed(effect idempotency_keys) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select effect.kind = 'effect' and (
    effect.status in ('running', 'unknown')
    or postroom.may_go_on(effect.job_id)
    or exists (select from effect_jobs e where e.org_id = effect.org_id and e.key = effect.key and postroom.may_go_on(e.job_id)))
$$;
revoke execute on function postroom.is_needed(idempotency_keys) from public;
grant execute on function postroom.is_needed(idempotency_keys) to postroom_ledger;

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before: nothing (act), a
-- result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is still alive (busy), or an end
-- that nobody knows (unknown).
--   lasts: how long the call may take, from now on; NULL for a caller that does not say.
--   in_flight_for: how long the call of the earlier attempt may still be under way; not above zero when it cannot be.
--   claim_left: how long the caller's attempt may still take. known_for: since when the provider may know the key.
--   first_request: the bytes of the earlier attempt, which a repeated call must send.
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
  on conflict (org_id, key, kind) do nothing;
  if found then
    return query select 'act', null::jsonb, null::interval, ends_at - clock_timestamp(), null::interval, null::bytea;
    return;
  end if;
  select k.* into stood from idempotency_keys k where k.org_id = org and k.key = effect_key and k.kind = 'effect' for update;
  if stood.key is null then
    raise exception 'the key of an effect was deleted while it began' using errcode = '40001';
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
      when stood.status = 'running' then case when is_alive then 'busy' else 'find_out' end
      else 'unknown'
    end,
    stood.result_ref, stood.may_last_until - clock_timestamp(), ends_at - clock_timestamp(),
    clock_timestamp() - coalesce(stood.begun_at, stood.first_seen_at), case when not acts then stood.request end;
end
$$;
