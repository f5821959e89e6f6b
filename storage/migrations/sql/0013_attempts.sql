-- A caller may give a job its own number of attempts; a number out of bounds is refused by its field, as the other fields are.

alter domain postroom.max_attempts drop constraint max_attempts_check;
alter domain postroom.max_attempts add constraint max_attempts_is_bounded check (case
  when value not between 1 and 100 then postroom.refuse_number('max_attempts', value, 1, 100) else true end) not valid;

-- The nearest smallint: a number that the column cannot hold would be refused without the field's name, and its domain names it.
create function postroom.within_smallint(value integer) returns integer
language sql immutable return case when value is not null then greatest(-32768, least(32767, value)) end;
revoke execute on function postroom.within_smallint(integer) from public;

-- The SQL door (0012_enqueue.sql), now with a job's own number of attempts. Whoever may execute it keeps the right.
create function postroom.enqueue_with_attempts(
  job_type text, org_id uuid, payload jsonb default '{}', run_at timestamptz default null, priority integer default 0,
  project_id uuid default null, idempotency_key text default null, expires_at timestamptz default null,
  actor_type text default 'system', actor_id text default 'sql', request_id text default null,
  correlation_id text default null, traceparent text default null, payload_version integer default null, max_attempts integer default null
) returns uuid
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select e.job_id from postroom.enqueue_jobs(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'job_type', job_type, 'org_id', org_id, 'run_at', run_at, 'priority', postroom.within_smallint(priority), 'project_id', project_id,
    'idempotency_key', idempotency_key, 'expires_at', expires_at, 'actor_type', actor_type, 'actor_id', actor_id,
    'request_id', request_id, 'correlation_id', correlation_id, 'traceparent', traceparent, 'payload_version', payload_version,
    'max_attempts', postroom.within_smallint(max_attempts)))
    || jsonb_build_object('payload', payload))) as e
$$;
revoke execute on function postroom.enqueue_with_attempts from public;
do $$
declare
  may record;
begin
  for may in
    select a.grantee, a.is_grantable
    from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
    where p.oid = 'postroom.enqueue'::regproc and a.grantee not in (0, p.proowner)
  loop
    execute format('grant execute on function postroom.enqueue_with_attempts to %s%s', may.grantee::regrole,
      case when may.is_grantable then ' with grant option' else '' end);
  end loop;
end
$$;
drop function postroom.enqueue;
alter function postroom.enqueue_with_attempts rename to enqueue;
