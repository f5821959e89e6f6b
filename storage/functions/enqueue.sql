-- Enqueueing: postroom.enqueue for any language, enqueue_job and enqueue_jobs for the fleet and its handlers.

-- The gate that keeps a job back, the longest of several, as jobs.parked_by names it; null when none does. Looks each
-- possible gate up by its key, so that thousands of parked accounts cost nothing.
create or replace function postroom.gate_of(of_org uuid, of_type text, of_queue text, of_account text) returns text
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select 'gate:' || g.scope || ':' || g.key
  from (
    select f.* from closed_gates f where f.scope = 'fleet'
    union all
    select k.* from (values ('queue', of_queue), ('job_type', of_type), ('org', of_org::text), ('account', of_account)) as w (scope, key)
    join closed_gates k on k.scope = w.scope and k.key = w.key
    union all
    select p.* from job_types t cross join lateral unnest(t.providers) as w (key)
    join closed_gates p on (p.scope, p.key) in (('provider', w.key), ('org_provider', of_org || ':' || w.key)) where t.name = of_type
  ) as g
  order by coalesce(g.until, 'infinity') desc, g.scope, g.key
  limit 1
$$;
grant execute on function postroom.gate_of to postroom_ledger;

-- Refuses a project that is not the org's; null is none.
create or replace function postroom.require_project(of_org uuid, of_project uuid) returns void
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if of_project is not null and not exists (select from projects p where p.org_id = of_org and p.id = of_project) then
    perform postroom.refuse('project_id', 'names no project of the org');
  end if;
end
$$;
grant execute on function postroom.require_project to postroom_ledger;

-- The project for which a tenant enqueues: its transaction's, where it has one, and then no other.
create or replace function postroom.project_of_tenant(wanted uuid) returns uuid
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
  if wanted <> postroom.current_project() then
    raise exception 'project_id: a tenant may enqueue for its own project only' using errcode = '42501';
  end if;
  return coalesce(wanted, postroom.current_project());
end
$$;

-- One job, in a statement of its own: what postroom.enqueue_jobs does for one request, in half of its time, for a plan of many joins
-- costs more to make ready than to run. The property test of tests/storage/jobs/enqueueing/test_enqueue_one.py compares the two.
-- No burst: one job is within any but none. Parameters and the believed `checked` as there; null is what a request leaves out.
create or replace function postroom.enqueue_job(
  asked_type text, for_org uuid, given_payload jsonb, given_version integer default null, checked boolean default false,
  given_id uuid default null, of_project uuid default null, given_key text default null, by_actor_type text default 'system',
  by_actor text default 'postroom', given_request text default null, given_correlation text default null, given_trace text default null,
  of_parent uuid default null, of_replay uuid default null, given_priority integer default 0, wanted_run_at timestamptz default null,
  given_expiry timestamptz default null, given_attempts integer default null, given_creation timestamptz default null,
  publisher boolean default false, hint_timeout interval default '30 seconds', given_base integer default null,
  given_cap integer default null, folds boolean default false, given_keys_of text default null
)
returns table (job_id uuid, job_type text, queue text, created boolean, publish boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  believes boolean := not postroom.is_tenant();
  origin jsonb;
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
  if not believes then
    of_project := postroom.project_of_tenant(of_project);
    -- What no job may carry is refused, though it is not believed.
    perform by_actor_type::postroom.actor_type, by_actor::postroom.actor_id, given_request::postroom.request_id,
      given_correlation::postroom.correlation_id;
    origin := postroom.current_origin();
    by_actor_type := origin ->> 'actor_type';
    by_actor := origin ->> 'actor_id';
    given_request := origin ->> 'request_id';
    given_correlation := origin ->> 'correlation_id';
    of_parent := case when of_parent is not null then (origin ->> 'job_id')::uuid end;
    of_replay := null;
  end if;
  if not exists (select from orgs o where o.id = for_org and o.closed_since is null) then
    perform postroom.refuse_closed_orgs(array[for_org]);
  end if;
  if given_keys_of = 'client' then
    perform postroom.refuse_erased_orgs(array[for_org]);
  end if;
  if of_project is not null then
    perform postroom.require_project(for_org, of_project);
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
    if given_key is not null then
      digest := postroom.request_digest(of_type.name, document);
    end if;
    guard := postroom.take_guard(for_org, postroom.key_space(given_keys_of, given_key,
        due_at > now() or given_priority < 0 or num_nonnulls(given_expiry, given_attempts, given_base, given_cap) > 0), key, guard_mode, new_id, of_type.keep_key_for, digest);
    if guard.job_id <> new_id then
      perform postroom.answers_request(guard.job_id, of_type.name, guard.request_digest, digest, folds);
      return query select guard.job_id, of_type.name, of_type.queue::text, false, false;
      return;
    end if;
  end if;

  if due_at <= now() and exists (select from closed_gates) then
    gate := postroom.gate_of(for_org, of_type.name, of_type.queue, document ->> 'account_id');
  end if;
  ready := due_at <= now() and gate is null;
  published := ready and publisher
    and not exists (select from orgs_over_burst o where o.queue = of_type.queue and (o.org_id = for_org or o.org_id is null));
  insert into jobs (id, org_id, project_id, job_type, queue, priority, payload, payload_version, idempotency_key, guarded,
                    serial_key, actor_type, actor_id, request_id, correlation_id, traceparent, parent_id, replay_of,
                    max_attempts, retry_base_s, retry_cap_s, deadline, created_at, run_at, expires_at, published_at, next_check_at, backlog_since, parked_by)
  values (new_id, for_org, of_project, of_type.name, of_type.queue,
    postroom.bounded_priority(given_priority::smallint, believes), document, coalesce(version, of_type.payload_version), key,
    guard_mode is not null,
    case when of_type.serial_field is not null then of_type.name || ':' || for_org || ':' || coalesce(document ->> of_type.serial_field, '') end,
    by_actor_type, by_actor, coalesce(given_request, new_id::text), coalesce(given_correlation, given_request, new_id::text),
    given_trace, of_parent, of_replay, coalesce(given_attempts, of_type.max_attempts),
    case when given_base is not null then postroom.retry_seconds('retry_base_s', given_base) end,
    case when given_cap is not null then postroom.retry_seconds('retry_cap_s', given_cap) end, of_type.deadline,
    least(coalesce(case when believes then given_creation end, now()), clock_timestamp()), due_at, given_expiry,
    case when published then now() end,
    case when due_at > now() then due_at when published then now() + hint_timeout end,
    case when ready and not published then due_at end, gate)
  on conflict (id) do nothing
  returning org_id into found_org;
  if found_org is null then
    perform postroom.is_same_job(new_id, for_org, of_type.name, case when guard_mode is not null then key::text end, null, null, null);
    return query select new_id, of_type.name, of_type.queue::text, false, false;
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
  return query select new_id, of_type.name, of_type.queue::text, true, published;
end
$$;
grant execute on function postroom.enqueue_job to postroom_ledger, postroom_tenant;

-- Inserts jobs, their guards and their audit events in the caller's transaction; all of a batch in one statement.
-- requests: a JSON array of objects (job_type, org_id, payload, and the optional fields of the job contract).
--   `checked`: the caller has checked the payload by its type's class; the ledger is believed, a tenant is not. Nor is a tenant's
--   `created_at`, which is the database's time then.
--   `folds`: whatever job of the type has the key does; it need not be for the same payload.
--   `keys_of`: who asks for the job, 'client' or 'fleet', where its key must be apart from those of others (postroom.key_space).
--   A tenant enqueues in the name that the engine has sealed for its transaction (postroom.current_origin), whatever it says.
-- publisher: true when the caller will publish the hints after its commit; else they wait for the relay, which is woken.
-- burst: so many due jobs of an org and queue are published at once; the rest, and all jobs of an org over its burst, wait for the relay.
create or replace function postroom.enqueue_jobs(
  requests jsonb, publisher boolean default false, hint_timeout interval default '30 seconds', burst integer default 20
)
returns table (place bigint, job_id uuid, job_type text, queue text, created boolean, publish boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  bad text;
  believes boolean := not postroom.is_tenant();
  origin jsonb := case when postroom.is_tenant() then postroom.current_origin() end;
  own_project uuid := case when postroom.is_tenant() then postroom.current_project() end;
begin
  hint_timeout := postroom.bounded_hint_timeout(hint_timeout, believes);
  if not believes and exists (
    select from jsonb_array_elements(requests) as r (body)
    where (r.body ->> 'org_id')::uuid is distinct from postroom.current_org()
  ) then
    raise exception 'org_id: a tenant may enqueue for its own org only' using errcode = '42501';
  end if;
  if not believes then
    -- What no job may carry is refused, though it is not believed.
    perform (r.body ->> 'actor_type')::postroom.actor_type, (r.body ->> 'actor_id')::postroom.actor_id,
      (r.body ->> 'request_id')::postroom.request_id, (r.body ->> 'correlation_id')::postroom.correlation_id
    from jsonb_array_elements(requests) as r (body);
  end if;
  perform postroom.require_orgs(array(select distinct (r.body ->> 'org_id')::uuid from jsonb_array_elements(requests) as r (body)));
  perform postroom.refuse_erased_orgs(array(
    select distinct (r.body ->> 'org_id')::uuid from jsonb_array_elements(requests) as r (body) where r.body ->> 'keys_of' = 'client'));
  if requests @? '$[*].project_id' then
    perform postroom.require_project(
      (r.body ->> 'org_id')::uuid, case when believes then (r.body ->> 'project_id')::uuid else postroom.project_of_tenant((r.body ->> 'project_id')::uuid) end)
    from jsonb_array_elements(requests) as r (body);
  end if;
  select format('job_type: %s is not a known job type', coalesce(a.name, 'null')) into bad
  from (select distinct r.body ->> 'job_type' from jsonb_array_elements(requests) as r (body)) as a (name)
  where not exists (select from job_types t where t.name = a.name or a.name = any (t.aliases))
  limit 1;
  if bad is not null then
    raise exception '%', bad using errcode = 'PR002';
  end if;

  return query
  with known_types as (
    select name as known_as, t.* from job_types t union all select unnest(aliases), t.* from job_types t
  ),
  asked as materialized (
    select r.*, c.*, t.name as type_name, t.queue as type_queue,
           t.payload_version as type_version, t.max_attempts as type_attempts, t.deadline as type_deadline,
           -- A job that is in the ledger already and comes once more must not take its key again, which it may have given up.
           -- Asked row by row: an EXISTS may be answered by a scan of all jobs.
           -- A key that the caller names guards for its time, whatever the type's own rule is about.
           case when t.unique_mode is null and r.given_key is null then null
             when (select j.id from jobs j where j.id = r.given_id) is null
             then case when r.given_key is null then t.unique_mode else 'for_ttl' end end as mode,
           postroom.key_space(r.keys_of, r.given_key,
             r.wanted_run_at > now() or r.priority < 0 or num_nonnulls(r.expires_at, r.given_attempts, r.given_base, r.given_cap) > 0) as space,
           case when r.given_key is not null then postroom.request_digest(t.name, c.payload) end as digest,
           t.keep_key_for, t.serial_field,
           coalesce(r.given_key, case
             -- Nothing can be the same as it: a longer key would be copied with each version of its row.
             when t.unique_mode is null then r.id::text
             else t.name || ':' || r.org_id || ':' || coalesce(r.project_id::text, '') || ':' || encode(sha256(convert_to(
               case when c.payload ?& t.unique_fields  -- postroom.unique_key, which a batch would call for each job
                    then (select jsonb_object_agg(f, c.payload -> f) from unnest(t.unique_fields) as f)::text else c.payload::text end,
               'UTF8')), 'hex') end) as key,
           coalesce(r.wanted_run_at, now()) as due_at
    from jsonb_array_elements(requests) with ordinality as o (body, place)
    -- Before the join, so that ids follow the order of the requests.
    cross join lateral (
      select o.place, (o.body ->> 'job_id')::uuid as given_id, coalesce((o.body ->> 'job_id')::uuid, uuidv7()) as id,
             o.body ->> 'job_type' as asked_type, (o.body ->> 'org_id')::uuid as org_id,
             coalesce((o.body ->> 'project_id')::uuid, own_project) as project_id, (o.body ->> 'idempotency_key')::postroom.idempotency_key as given_key,
             coalesce(said.by ->> 'actor_type', 'system') as actor_type, coalesce(said.by ->> 'actor_id', 'postroom') as actor_id,
             said.by ->> 'request_id' as given_request, said.by ->> 'correlation_id' as given_correlation,
             o.body ->> 'traceparent' as traceparent,
             case when believes then o.body ->> 'parent_id' when o.body ->> 'parent_id' is not null then origin ->> 'job_id' end::uuid as parent_id,
             case when believes then (o.body ->> 'replay_of')::uuid end as replay_of, postroom.bounded_priority(coalesce((o.body ->> 'priority')::smallint, 0::smallint), believes) as priority,
             (o.body ->> 'run_at')::timestamptz as wanted_run_at, (o.body ->> 'expires_at')::timestamptz as expires_at,
             (o.body ->> 'max_attempts')::smallint as given_attempts, (o.body ->> 'retry_base_s')::integer as given_base,
             (o.body ->> 'retry_cap_s')::integer as given_cap, coalesce((o.body -> 'folds') = 'true', false) as folds,
             o.body ->> 'keys_of' as keys_of,
             case when believes then (o.body ->> 'created_at')::timestamptz end as created_at
      from (select case when believes then o.body else origin end as by) as said
    ) as r
    join known_types t on t.known_as = r.asked_type
    cross join lateral (
      select case when not (believes and coalesce((o.body -> 'checked') = 'true', false)) then
        postroom.accept_payload(t.name, (o.body ->> 'payload_version')::integer, coalesce(o.body -> 'payload', '{}')) end as document
    ) as accepted
    cross join lateral (
      select coalesce(accepted.document -> 'payload', o.body -> 'payload', '{}') as payload,
             coalesce(accepted.document ->> 'version', o.body ->> 'payload_version')::smallint as given_version
    ) as c
  ),
  -- Of requests with one key in one batch the first wins; in key order, so that two batches cannot deadlock.
  firsts as (
    select distinct on (org_id, key, space) org_id, key, space, id, mode, keep_key_for, digest from asked
    where mode is not null order by org_id, key, space, place
  ),
  guards as (
    insert into idempotency_keys as k (org_id, key, kind, mode, status, job_id, expires_at, kept_after_end, request_digest, last_seen_at)
    select org_id, key, space, mode, 'pending', id, 'infinity', keep_key_for, digest, clock_timestamp() from firsts
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
    returning k.org_id, k.key, k.job_id, k.kind, k.request_digest
  ),
  checked as (
    select a.*, coalesce(g.job_id, a.id) as winner, coalesce(g.job_id = a.id, true) as wins,
           g.request_digest as guard_digest, a.due_at <= now() as due,
           case when a.due_at <= now() and exists (select from closed_gates) then
             postroom.gate_of(a.org_id, a.type_name, a.type_queue, a.payload ->> 'account_id') end as gate
    from asked a
    left join guards g on a.mode is not null and g.org_id = a.org_id and g.key = a.key and g.kind = a.space
  ),
  placed as (
    select j.*, j.wins and j.due and j.gate is null as ready,
           row_number() over (partition by j.type_queue, j.org_id, j.wins and j.due and j.gate is null
                              order by j.priority desc, j.place) as rank,
           exists (select from orgs_over_burst o where o.queue = j.type_queue and o.org_id = j.org_id)
             or exists (select from orgs_over_burst o where o.queue = j.type_queue and o.org_id is null) as over_burst
    from checked j
  ),
  inserted as (
    insert into jobs (id, org_id, project_id, job_type, queue, priority, payload, payload_version, idempotency_key, guarded,
                      serial_key, actor_type, actor_id, request_id, correlation_id, traceparent, parent_id, replay_of,
                      max_attempts, retry_base_s, retry_cap_s, deadline, created_at, run_at, expires_at, published_at, next_check_at, backlog_since, parked_by)
    select id, org_id, project_id, type_name, type_queue, priority, payload, coalesce(given_version, type_version), key,
           mode is not null, case when serial_field is not null then type_name || ':' || org_id || ':' || coalesce(payload ->> serial_field, '') end,
           -- Who names no request is one by itself: fresh ids cost as much as all the rest of the row.
           actor_type, actor_id, coalesce(given_request, id::text), coalesce(given_correlation, given_request, id::text),
           traceparent, parent_id, replay_of,
           coalesce(given_attempts, type_attempts),
           case when given_base is not null then postroom.retry_seconds('retry_base_s', given_base) end,
           case when given_cap is not null then postroom.retry_seconds('retry_cap_s', given_cap) end, type_deadline, least(coalesce(created_at, now()), clock_timestamp()), due_at, expires_at,
           case when ready and publisher and not over_burst and rank <= burst then now() end,
           case when not due then due_at when ready and publisher and not over_burst and rank <= burst then now() + hint_timeout end,
           case when ready and not (publisher and not over_burst and rank <= burst) then due_at end,
           gate
    from placed where wins
    on conflict (id) do nothing
    returning id, org_id, project_id, job_type, idempotency_key, actor_type, actor_id, request_id, correlation_id, run_at, parent_id, replay_of,
              published_at
  ),
  audited as (
    insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
      parent_id, replay_of, data)
    select 'job.enqueued', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, 0, parent_id, replay_of,
           case when run_at > now() then jsonb_build_object('run_at', run_at) end
    from inserted
  ),
  marked as (
    insert into orgs_over_burst (queue, org_id)
    select distinct type_queue, org_id from placed where ready and not over_burst and rank > burst
  )
  select p.place, p.winner, p.type_name, p.type_queue,
    case
      when not p.wins then not postroom.answers_request(p.winner, p.type_name, p.guard_digest, p.digest, p.folds)
      -- Not found by its id although nobody else has its key, or found as another request of this batch made it: the id is taken.
      when i.id is null or i.org_id <> p.org_id or i.job_type <> p.type_name or (p.mode is not null and i.idempotency_key <> p.key)
      then not postroom.is_same_job(p.id, p.org_id, p.type_name, case when p.mode is not null then p.key end,
        i.org_id, i.job_type, i.idempotency_key) and i.id is not null
      else true end,
    i.published_at is not null
  from placed p left join inserted i on i.id = p.id and p.wins
  order by p.place;

  if not publisher or exists (select from orgs_over_burst o where o.since = now()) then
    -- The relay stays awake while a tenant is over its burst: whoever adds to its backlog need not wake it again.
    perform pg_notify('postroom_due', '');
  end if;
end
$$;
grant execute on function postroom.enqueue_jobs to postroom_ledger, postroom_tenant;

-- The name of a job type that services enqueue; refused for one that the fleet enqueues by itself.
create or replace function postroom.of_services(asked_type text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  instead text := (select t.asked_by from job_types t where asked_type = t.name or asked_type = any (t.aliases));
begin
  if instead is not null then
    perform postroom.refuse('job_type', format('%s is enqueued by the fleet itself: ask by %s', asked_type, instead));
  end if;
  return asked_type;
end
$$;

-- The SQL entry point, for any language, inside the caller's transaction. Returns the job's id, or the id of the job that has the key.
create or replace function postroom.enqueue(
  job_type text, org_id uuid, payload jsonb default '{}', run_at timestamptz default null, priority integer default 0,
  project_id uuid default null, idempotency_key text default null, expires_at timestamptz default null,
  actor_type text default 'system', actor_id text default 'sql', request_id text default null,
  correlation_id text default null, traceparent text default null, payload_version integer default null, max_attempts integer default null,
  retry_base_s integer default null, retry_cap_s integer default null
) returns uuid
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select e.job_id from postroom.enqueue_job(postroom.of_services(job_type), org_id, coalesce(payload, 'null'), payload_version,
    of_project => project_id, given_key => idempotency_key, by_actor_type => coalesce(actor_type, 'system'),
    by_actor => coalesce(actor_id, 'postroom'), given_request => request_id, given_correlation => correlation_id, given_trace => traceparent,
    given_priority => coalesce(postroom.within_smallint(priority), 0), wanted_run_at => run_at, given_expiry => expires_at,
    given_attempts => postroom.within_smallint(max_attempts), given_base => retry_base_s, given_cap => retry_cap_s,
    given_keys_of => 'client') as e
$$;
grant execute on function postroom.enqueue to postroom_ledger, postroom_tenant;
