-- Guards: one job of a kind, under a key that its type or its caller names.

-- Which space a key of a job is of: `named` by a caller; `client`, derived for what a client asks for on terms of its own; `job`, all others of the fleet, derived
-- ones and those that the fleet names for what it owes. So nobody can name a job as the ledger names another, and what the fleet owes folds
-- into no job whose time a client has chosen. keys_of: 'client', 'fleet', or null; own_terms: whether the request says when, how often or how
-- late, which the fleet would not.
create or replace function postroom.key_space(keys_of text, named_key text, own_terms boolean) returns text
language sql immutable as $$
  select case when named_key is not null and keys_of is distinct from 'fleet' then 'named' when keys_of = 'client' and own_terms then 'client' else 'job' end
$$;

-- When a guard lets the next job through. A guard that outlived its time is always free.
create or replace function postroom.is_free(kind text, mode text, status text, expires_at timestamptz) returns boolean
language sql stable as $$
  select kind <> 'effect' and (
    expires_at <= now()
    or (mode = 'while_queued' and status <> 'pending')
    or (mode = 'while_active' and status not in ('pending', 'running')))
$$;

-- The guard's key of a job whose caller named none, by its type's unique fields. A version that lacks such a field is told from others by
-- all that it says.
create or replace function postroom.unique_key(of_type job_types, for_org uuid, of_project uuid, payload jsonb) returns text
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select of_type.name || ':' || for_org || ':' || coalesce(of_project::text, '') || ':' || encode(sha256(convert_to(
    case when payload ?& of_type.unique_fields then (select jsonb_object_agg(f, payload -> f) from unnest(of_type.unique_fields) as f)::text
      else payload::text end, 'UTF8')), 'hex')
$$;
grant execute on function postroom.unique_key to postroom_ledger;

-- Takes the guard of a key for a job, unless another job has it; returns the guard, which names the job that has it.
-- It is seen now, not when the transaction began: that may have waited for a lock (postroom.is_of_earlier_connection).
create or replace function postroom.take_guard(for_org uuid, of_space text, of_key text, of_mode text, for_job uuid, kept interval, digest bytea)
returns idempotency_keys
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
  guard idempotency_keys;
begin
  insert into idempotency_keys as k (org_id, key, kind, mode, status, job_id, expires_at, kept_after_end, request_digest, last_seen_at)
  values (for_org, of_key, of_space, of_mode, 'pending', for_job, 'infinity', kept, digest, clock_timestamp())
  on conflict (org_id, key, kind) do update set
    last_seen_at = clock_timestamp(),
    job_id = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then excluded.job_id else k.job_id end,
    mode = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then excluded.mode else k.mode end,
    first_seen_at = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then now() else k.first_seen_at end,
    expires_at = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then excluded.expires_at else k.expires_at end,
    kept_after_end = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then excluded.kept_after_end else k.kept_after_end end,
    request_digest = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then excluded.request_digest else k.request_digest end,
    result_ref = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then null else k.result_ref end,
    error_ref = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then null else k.error_ref end,
    status = case when postroom.is_free(k.kind, k.mode, k.status, k.expires_at) then 'pending' else k.status end
  returning k.* into guard;
  return guard;
end
$$;

-- The guard of a job stands as long as the job, and for its type's time after the job's end.
create or replace function postroom.keep_guard() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.expires_at := now() + new.kept_after_end;
  return new;
end
$$;
create or replace trigger idempotency_keys_job_ended before update of status on idempotency_keys for each row
  when (new.kind <> 'effect' and new.kept_after_end is not null and old.status in ('pending', 'running') and new.status in ('succeeded', 'failed', 'dead')
    and new.job_id = old.job_id)
  execute function postroom.keep_guard();

-- Whatever names a guard by its key goes with it when an erasure changes the key.
create or replace function postroom.follow_key() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  of_job uuid := new.job_id;
begin
  if new.kind = 'effect' then
    update effect_jobs e set key = new.key where e.org_id = new.org_id and e.key = old.key;
  else
    update jobs set idempotency_key = new.key where id = of_job and org_id = new.org_id and idempotency_key = old.key;
  end if;
  return null;
end
$$;
create or replace trigger idempotency_keys_changed after update of key on idempotency_keys for each row
  when (old.key <> new.key)
  execute function postroom.follow_key();

-- What two requests under one key must have in common. Payloads have their defaults by now.
create or replace function postroom.request_digest(type_name text, payload jsonb) returns bytea
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
  select sha256(convert_to(type_name || ':' || payload::text, 'UTF8'))
$$;

-- Raises PR002 unless a request may be answered with the job whose guard stands under its key. For one that `folds` any job of its type
-- will do.
create or replace function postroom.answers_request(of_job uuid, of_type text, standing bytea, asked bytea, folds boolean) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if (case when folds then exists (select from jobs j where j.id = of_job and j.job_type <> of_type) else standing is distinct from asked end) then
    perform postroom.refuse('idempotency_key', 'belongs to another request, which asked for something else');
  end if;
  return true;
end
$$;

-- Whether the job that has an id is of this org, type and key; raises PR002 when it is not: its org would lose the job that it asked for,
-- and a guard that was taken for it would stand for ever.
-- found_org, found_type, found_key: of a job of the same statement, whose row is not to be seen yet.
-- of_key: null when no guard was taken, for a job that comes once more and may have given its key up.
-- Sees what another transaction has committed meanwhile, as a part of the statement that found the id taken would not.
create or replace function postroom.is_same_job(
  of_id uuid, of_org uuid, of_type text, of_key text, found_org uuid, found_type text, found_key text
) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if found_org <> of_org or found_type <> of_type or found_key <> of_key
    or exists (select from jobs j where j.id = of_id and (j.org_id <> of_org or j.job_type <> of_type or j.idempotency_key <> of_key))
  then
    perform postroom.refuse('job_id', 'belongs to another job');
  end if;
  return true;
end
$$;
