-- An idempotency key that a caller names: it guards for its type's time, whatever the type's own rule, and belongs to one request.

-- What a request under a key asked for, as a digest of job type and payload; null where the guard's key was not named by a caller.
alter table idempotency_keys add column request_digest bytea;

-- The defaults of the published shape are filled in: a door that writes them and one that does not ask for the same.
create function postroom.request_digest(type_name text, payload_schema jsonb, payload jsonb) returns bytea
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
  select sha256(convert_to(type_name || ':' || (coalesce(d.defaults, '{}') || payload)::text, 'UTF8'))
  from (
    select jsonb_object_agg(p.key, p.value -> 'default') as defaults
    from jsonb_each(coalesce(payload_schema -> 'properties', '{}')) as p where p.value ? 'default'
  ) as d
$$;

-- Raises PR002 unless a request may be answered with the job whose guard stands under its key.
create function postroom.answers_request(kind text, standing bytea, asked bytea) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if kind = 'effect' then
    perform postroom.refuse('idempotency_key', 'is the key of an effect');
  elsif standing <> asked then
    perform postroom.refuse('idempotency_key', 'belongs to another request, which asked for something else');
  end if;
  return true;
end
$$;

drop function postroom.is_same_job(uuid, uuid, text, uuid, text);

-- Whether the job that has an id is of this org, type and key; raises PR002 when it is not: its org would lose the job that it asked for,
-- and a guard that was taken for it would stand for ever.
-- found_org, found_type, found_key: of a job of the same statement, whose row is not to be seen yet.
-- of_key: null when no guard was taken, for a job that comes once more and may have given its key up.
-- Sees what another transaction has committed meanwhile, as a part of the statement that found the id taken would not.
create function postroom.is_same_job(
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

-- For how long a published job waits for its claim before the relay sends it again. A tenant's own jobs wait for an hour at most, the
-- longest that the fleet's setting allows.
create function postroom.bounded_hint_timeout(given interval, believes boolean) returns interval
language sql immutable return case
  when believes then given else greatest(interval '1 second', least(given, interval '1 hour')) end;

drop function postroom.take_guard(uuid, text, text, uuid, interval);

-- As in 0012_enqueue_one.sql, with the digest of the request.
create function postroom.take_guard(for_org uuid, of_key text, of_mode text, for_job uuid, kept interval, digest bytea)
returns idempotency_keys
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
  guard idempotency_keys;
begin
  insert into idempotency_keys as k (org_id, key, kind, mode, status, job_id, expires_at, kept_after_end, request_digest)
  values (for_org, of_key, 'job', of_mode, 'pending', for_job, 'infinity', kept, digest)
  on conflict (org_id, key) do update set
    last_seen_at = now(),
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

-- A job's own retry: seconds before the first one, and the most between two attempts. Null is what the type's policy says. No domains: a
-- column of a constrained domain rewrites the table.
alter table jobs add column retry_base_s integer;
alter table jobs add column retry_cap_s integer;
grant select (retry_base_s, retry_cap_s) on jobs to postroom_tenant;

-- The number of seconds, unless it is out of bounds; raises PR002 then.
create function postroom.retry_seconds(field text, given integer) returns integer
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if given not between 1 and 86400 then
    perform postroom.refuse_number(field, given, 1, 86400);
  end if;
  return given;
end
$$;

revoke execute on function postroom.request_digest, postroom.answers_request, postroom.is_same_job, postroom.bounded_hint_timeout,
  postroom.take_guard, postroom.retry_seconds from public;
