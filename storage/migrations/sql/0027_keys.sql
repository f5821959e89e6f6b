-- Keys of jobs and keys of effects are two spaces (docs/explanation/effects.md#keys): whatever a caller names a key of a job, an effect
-- under the same words is another row. Each function says now which kind it
-- means.

alter table idempotency_keys drop constraint idempotency_keys_pkey;
alter table idempotency_keys add constraint idempotency_keys_pkey primary key using index idempotency_keys_of_kind;

-- As in 0017_keys.sql; no effect stands under the key of a job.
create or replace function postroom.answers_request(kind text, standing bytea, asked bytea) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if standing <> asked then
    perform postroom.refuse('idempotency_key', 'belongs to another request, which asked for something else');
  end if;
  return true;
end
$$;

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before: nothing (act), a
-- result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is still alive (busy), or an end
-- that nobody knows (unknown).
--   lasts: how long the call may take, from now on; NULL for a caller that does not say.
--   in_flight_for: how long the call of the earlier attempt may still be under way; not above zero when it cannot be.
--   claim_left: how long the caller's attempt may still take. known_for: since when the provider may know the key.
--   first_request: the bytes of the earlier attempt, which a repeated call must send.
-- Each lock is taken by a statement of its own: a statement that waited for one decides by what it saw before it waited.
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
    where k.org_id = org and k.key = effect_key and k.kind = 'effect';
  else
    -- Whoever relies on a result keeps it: purging goes by the job that a key names, and by its time.
    update idempotency_keys k set
      last_seen_at = now(), expires_at = greatest(k.expires_at, now() + keep_for),
      job_id = case when stood.status <> 'succeeded'
        or exists (select from jobs o where o.id = stood.job_id and (o.finished_at is null or o.state = 'dead')) then k.job_id else held_job end
    where k.org_id = org and k.key = effect_key and k.kind = 'effect';
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

-- What enqueues and what ends a claim mean keys of jobs. Only these words change: the rest stays as the last migration before this one
-- wrote it.
do $$
declare
  one record;
  was text;
  becomes text;
begin
  for one in
    select * from (values
      ('postroom.enqueue_jobs', 'on conflict (org_id, key) do', 'on conflict (org_id, key, kind) do'),
      ('postroom.take_guard', 'on conflict (org_id, key) do', 'on conflict (org_id, key, kind) do'),
      ('postroom.leave_claims', 'k.key = s.idempotency_key and k.job_id', 'k.key = s.idempotency_key and k.kind = ''job'' and k.job_id')
    ) as d (name, means_any, means_jobs)
  loop
    was := pg_get_functiondef(one.name::regproc);
    becomes := replace(was, one.means_any, one.means_jobs);
    if becomes = was then
      raise exception '% does not say "%" any more: say there that keys of jobs are meant', one.name, one.means_any;
    end if;
    execute becomes;
  end loop;
end
$$;
