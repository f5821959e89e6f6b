-- One job, as in 0012_enqueue_one.sql: a key belongs to one request, and a job may bring its own retry.

drop function postroom.enqueue_job;

-- One job, in a statement of its own: what postroom.enqueue_jobs does for one request, in a third of its time, for a plan of many joins
-- costs more to make ready than to run. The property test of tests/storage/ledger/enqueueing/test_enqueue_one.py compares the two.
-- No burst: one job is within any but none. Parameters and the believed `checked` as there; null is what a request leaves out.
create function postroom.enqueue_job(
  asked_type text, for_org uuid, given_payload jsonb, given_version integer default null, checked boolean default false,
  given_id uuid default null, of_project uuid default null, given_key text default null, by_actor_type text default 'system',
  by_actor text default 'postroom', given_request text default null, given_correlation text default null, given_trace text default null,
  of_parent uuid default null, of_replay uuid default null, given_priority integer default 0, wanted_run_at timestamptz default null,
  given_expiry timestamptz default null, given_attempts integer default null, given_creation timestamptz default null,
  publisher boolean default false, hint_timeout interval default '30 seconds', given_base integer default null,
  given_cap integer default null, folds boolean default false
)
returns table (job_id uuid, job_type text, queue text, created boolean, publish boolean, light boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  believes boolean := not postroom.is_tenant();
  of_type job_types;
  document jsonb := given_payload;
  version integer := given_version;
  accepted jsonb;
  new_id uuid := coalesce(given_id, uuidv7());
  guard_mode text;
  key postroom.idempotency_key := given_key;
  guard idempotency_keys;
  digest bytea;
  due_at timestamptz := coalesce(wanted_run_at, now());
  gate text;
  ready boolean;
  published boolean;
  found_org uuid;
begin
  hint_timeout := postroom.bounded_hint_timeout(hint_timeout, believes);
  if not believes and for_org is distinct from postroom.current_org() then
    raise exception 'org_id: a tenant may enqueue for its own org only' using errcode = '42501';
  end if;
  perform from orgs o where o.id = for_org for key share;
  if not found then
    raise exception 'org_id: names no org' using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
  select t.* into of_type from job_types t where t.name = asked_type;
  if not found then
    select t.* into of_type from job_types t where asked_type = any (t.aliases);
    if not found then
      raise exception 'job_type: % is not a known job type', coalesce(asked_type, 'null') using errcode = 'PR002';
    end if;
  end if;
  if not (believes and checked) then
    accepted := postroom.accept_payload(of_type.name, given_version, coalesce(given_payload, '{}'));
    document := accepted -> 'payload';
    version := (accepted ->> 'version')::integer;
  end if;

  if of_type.unique_mode is not null or given_key is not null then
    -- A job that is in the ledger already and comes once more must not take its key again, which it may have given up.
    if given_id is null or not exists (select from jobs j where j.id = given_id) then
      -- A key that the caller names guards for its time, whatever the type's own rule is about.
      guard_mode := case when given_key is null then of_type.unique_mode else 'for_ttl' end;
    end if;
  end if;
  if key is null then
    key := case when of_type.unique_mode is null then new_id::text
      else postroom.unique_key(of_type, for_org, of_project, document) end;
  end if;
  if guard_mode is not null then
    if given_key is not null and not folds then
      digest := postroom.request_digest(of_type.name, of_type.payload_schema, document);
    end if;
    guard := postroom.take_guard(for_org, key, guard_mode, new_id, of_type.keep_key_for, digest);
    if guard.job_id <> new_id then
      perform postroom.answers_request(guard.kind, guard.request_digest, digest);
      return query select guard.job_id, of_type.name, of_type.queue::text, false, false, of_type.light;
      return;
    end if;
  end if;

  if due_at <= now() and exists (select from gates) then
    gate := postroom.gate_of(for_org, of_type.name, of_type.queue, document ->> 'account_id');
  end if;
  ready := due_at <= now() and gate is null;
  published := ready and publisher
    and not exists (select from orgs_over_burst o where o.queue = of_type.queue and (o.org_id = for_org or o.org_id is null));
  insert into jobs (id, org_id, project_id, job_type, queue, priority, payload, payload_version, idempotency_key, guarded,
                    light, serial_key, actor_type, actor_id, request_id, correlation_id, traceparent, parent_id, replay_of,
                    max_attempts, retry_base_s, retry_cap_s, deadline, created_at, run_at, expires_at, published_at, next_check_at, backlog_since, parked_by)
  values (new_id, for_org, of_project, of_type.name, of_type.queue,
    postroom.bounded_priority(given_priority::smallint, believes), document, coalesce(version, of_type.payload_version), key,
    guard_mode is not null, of_type.light,
    case when of_type.serial_field is not null then of_type.name || ':' || for_org || ':' || coalesce(document ->> of_type.serial_field, '') end,
    by_actor_type, by_actor, coalesce(given_request, new_id::text), coalesce(given_correlation, given_request, new_id::text),
    given_trace, of_parent, of_replay, coalesce(given_attempts, of_type.max_attempts),
    case when given_base is not null then postroom.retry_seconds('retry_base_s', given_base) end,
    case when given_cap is not null then postroom.retry_seconds('retry_cap_s', given_cap) end, of_type.deadline,
    coalesce(case when believes then given_creation end, now()), due_at, given_expiry,
    case when published then now() end,
    case when due_at > now() then due_at when published then now() + hint_timeout end,
    case when ready and not published then due_at end, gate)
  on conflict (id) do nothing
  returning org_id into found_org;
  if found_org is null then
    perform postroom.is_same_job(new_id, for_org, of_type.name, case when guard_mode is not null then key::text end, null, null, null);
    return query select new_id, of_type.name, of_type.queue::text, false, false, of_type.light;
    return;
  end if;
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    parent_id, replay_of, data)
  values ('job.enqueued', for_org, of_project, by_actor_type, by_actor, coalesce(given_request, new_id::text),
    coalesce(given_correlation, given_request, new_id::text), new_id, of_type.name, 0, of_parent, of_replay,
    case when due_at > now() then jsonb_build_object('run_at', due_at) end);
  if not publisher then
    perform pg_notify('postroom_due', '');
  end if;
  return query select new_id, of_type.name, of_type.queue::text, true, published, of_type.light;
end
$$;
revoke execute on function postroom.enqueue_job from public;
grant execute on function postroom.enqueue_job to postroom_ledger, postroom_tenant;
