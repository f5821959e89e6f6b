-- The ledger: every job, its guards, steps, audit log and dead letter. docs/explanation/life-of-a-job.md describes them.

-- One row per process that runs jobs; renewing it keeps all the claims of the process.
create table workers (
  id uuid primary key,
  node_id uuid not null,
  hostname text not null,
  pid integer not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null
);
create index workers_lease on workers (lease_until);
grant select, insert, update, delete on workers to postroom_ledger;

-- What the catalogue says of each job type, so that every producer decides alike; written by the workers at their start.
create table job_types (
  name text primary key check (name ~ '^[a-z_]+\.[a-z_]+$'),
  aliases text[] not null default '{}',
  queue text not null check (queue in ('critical', 'default', 'notifications', 'planning', 'exports', 'maintenance', 'deadletter')),
  payload_version smallint not null check (payload_version > 0),
  payload_schema jsonb not null,
  max_attempts smallint not null check (max_attempts between 1 and 100),
  deadline interval not null check (deadline > interval '0'),
  unique_mode text check (unique_mode in ('while_queued', 'while_active', 'for_ttl')),
  unique_fields text[],
  keep_key_for interval not null,
  serial_field text,
  serial_limit smallint not null default 1 check (serial_limit between 1 and 1000),
  light boolean not null default false,
  providers text[] not null default '{}',
  -- The function postroom.<on_end>(jsonb) that is called when a job of this type ends.
  on_end text,
  seen_at timestamptz not null default now()
);
-- So that a type without a hook costs nothing at the end of its jobs.
create index job_types_hooked on job_types (name) where on_end is not null;
grant select, insert, update on job_types to postroom_ledger;
grant select on job_types to postroom_tenant;

-- What a job keeps for life is of domains: a table's check is made of every version of a row, a domain's only of a value
-- that is written, and a claim and a settlement write few of them. Each has its column's name, so that a refusal names the field.
create domain postroom.job_type as text check (length(value) between 1 and 100);
create domain postroom.queue as text
  check (value in ('critical', 'default', 'notifications', 'planning', 'exports', 'maintenance', 'deadletter'));
create domain postroom.payload as jsonb check (jsonb_typeof(value) = 'object')
  -- One that no worker can read would end each worker that claims it (domain/jobs/nesting.py).
  constraint payload_nests_at_most_64_levels check (not jsonb_path_exists(value, 'strict $.**{65}'))
  check (case when postroom.carries_secret(value) is null then true else postroom.refuse_secret(value) end);
create domain postroom.idempotency_key as text check (length(value) between 1 and 400);
create domain postroom.serial_key as text check (length(value) <= 400);
create domain postroom.actor_type as text check (value in ('user', 'system', 'api_key'));
create domain postroom.actor_id as text check (length(value) between 1 and 200);
create domain postroom.request_id as text check (length(value) between 1 and 200);
create domain postroom.correlation_id as text check (length(value) between 1 and 200);
create domain postroom.traceparent as text check (length(value) <= 200);
create domain postroom.priority as smallint check (value between -100 and 100);
create domain postroom.payload_version as smallint check (value > 0);
create domain postroom.max_attempts as smallint check (value between 1 and 100);
create domain postroom.deadline as interval check (value > interval '0');
-- Python knows the years 1 to 9999: a claim with another could be made and not be read.
create domain postroom.created_at as timestamptz
  check (value between '0001-01-02 00:00+00' and '9999-12-30 00:00+00');
create domain postroom.run_at as timestamptz
  check (value between '0001-01-02 00:00+00' and '9999-12-30 00:00+00');
create domain postroom.expires_at as timestamptz
  check (value between '0001-01-02 00:00+00' and '9999-12-30 00:00+00');

-- An unfinished job is in exactly one of three waiting states, each a column; a finished one is in none. No index names the
-- state or changes by a claim, so that the claim of a published job stays a HOT update. docs/explanation/fairness.md has a picture.
-- next_check_at: when the relay must check the job: a scheduled job when it is due, a published one when its hint has been
--   out too long, a claimed one when its worker's lease could have ended.
-- light: whether its type was light when it was enqueued; such jobs of milliseconds stand apart in the backlog.
-- backlog_since: it is due since then and not published. It stays there until it is claimed: when its turn has come the relay
--   asks for claims from the backlog, and a worker claims the oldest.
-- parked_by: it waits for a gate to open (gate:<scope>:<key>) or for its concurrency key (key:<serial_key>), and nobody
--   looks at it before that happens.
create table jobs (
  -- Its index and the audit log's begin half full: what a claim and a settlement add stands beside the first entry, and
  -- would split a page that the enqueueing had filled.
  id uuid default uuidv7() primary key with (fillfactor = 50),
  -- Looked up once per org and statement (require_orgs) by those that insert; row by row it was a tenth of an enqueue.
  org_id uuid not null references orgs (id) not enforced,
  project_id uuid,
  job_type postroom.job_type not null,
  queue postroom.queue not null,
  state text not null default 'queued'
    check (state in ('queued', 'claimed', 'running', 'succeeded', 'failed', 'dead', 'canceled')),
  priority postroom.priority not null default 0,
  payload postroom.payload not null,
  payload_version postroom.payload_version not null,
  idempotency_key postroom.idempotency_key not null,
  guarded boolean not null,
  light boolean not null default false,
  serial_key postroom.serial_key,
  actor_type postroom.actor_type not null,
  actor_id postroom.actor_id not null,
  request_id postroom.request_id not null,
  correlation_id postroom.correlation_id not null,
  traceparent postroom.traceparent,
  parent_id uuid,
  replay_of uuid,
  attempt smallint not null default 0 check (attempt between 0 and max_attempts),
  max_attempts postroom.max_attempts not null,
  losses smallint not null default 0 check (losses >= 0),
  suspect boolean not null default false,
  deadline postroom.deadline not null,
  created_at postroom.created_at not null default now(),
  run_at postroom.run_at not null default now(),
  expires_at postroom.expires_at,
  published_at timestamptz,
  next_check_at timestamptz,
  backlog_since timestamptz,
  parked_by text collate "C" check (parked_by ~ '^(gate|key):'),
  claim_token uuid,
  worker_id uuid,
  claimed_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason text check (length(cancel_reason) <= 1000),
  progress jsonb,
  output jsonb,
  error jsonb,
  cost_microcents bigint not null default 0 check (cost_microcents >= 0),
  constraint final_when_finished check ((state in ('succeeded', 'failed', 'dead', 'canceled')) = (finished_at is not null)),
  constraint claimed_with_token check ((state in ('claimed', 'running')) = (claim_token is not null and worker_id is not null and claimed_at is not null)),
  constraint running_was_started check (state <> 'running' or (started_at is not null and attempt > 0)),
  constraint one_waiting_state_until_finished check (num_nonnulls(next_check_at, backlog_since, parked_by) = (finished_at is null)::int),
  constraint only_queued_jobs_wait check (state = 'queued' or (backlog_since is null and parked_by is null)),
  constraint failure_has_error check (state not in ('failed', 'dead') or error is not null),
  constraint canceled_has_reason check (state <> 'canceled' or cancel_reason is not null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index jobs_next_check on jobs (next_check_at) where next_check_at is not null;
create index jobs_backlog on jobs (queue, priority desc, light, org_id, backlog_since, id) where backlog_since is not null;
create index jobs_parked on jobs (parked_by, priority desc, run_at, id) where parked_by is not null;
-- For retention alone. A block-range index costs a settlement nothing, and jobs finish in about the order of their rows.
create index jobs_finished on jobs using brin (finished_at) with (pages_per_range = 32, autosummarize = on);
call postroom.fence_table('jobs', 'org_id', 'select');
grant select, insert, update, delete on jobs to postroom_ledger;
grant select on jobs to postroom_tenant;

-- Guards jobs (one of a kind) and effects (once, or known to be unknown) alike.
create table idempotency_keys (
  org_id uuid not null references orgs (id) not enforced,  -- as in jobs
  key text not null check (length(key) between 1 and 400),
  kind text not null check (kind in ('job', 'effect')),
  mode text not null check (mode in ('while_queued', 'while_active', 'for_ttl', 'native_key', 'find', 'idempotent', 'at_most_once')),
  status text not null check (status in ('pending', 'running', 'succeeded', 'failed', 'dead', 'unknown')),
  job_id uuid not null,
  owner_token uuid,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  result_ref jsonb,
  error_ref jsonb,
  primary key (org_id, key),
  constraint effect_names_its_claim check (kind = 'job' or owner_token is not null),
  constraint mode_fits_kind check ((kind = 'job') = (mode in ('while_queued', 'while_active', 'for_ttl'))),
  constraint success_has_result check (kind = 'job' or status <> 'succeeded' or result_ref is not null)
) with (fillfactor = 80);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
create index idempotency_keys_job on idempotency_keys (job_id) where kind = 'effect';
call postroom.fence_table('idempotency_keys', 'org_id', 'select');
grant select, insert, update, delete on idempotency_keys to postroom_ledger;
grant select on idempotency_keys to postroom_tenant;

-- What enforced foreign keys of jobs and guards would do, once for each org of a statement: the orgs are there, and stay
-- until the transaction has ended.
create function postroom.require_orgs(org_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (select count(*) from (select from orgs where id = any (org_ids) for key share) as o) < cardinality(org_ids) then
    raise exception 'org_id: names no org' using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
end
$$;
revoke execute on function postroom.require_orgs(uuid[]) from public;
grant execute on function postroom.require_orgs(uuid[]) to postroom_ledger;
create function postroom.keep_org() returns trigger language plpgsql as $$
begin
  if exists (select from jobs where org_id = old.id) or exists (select from idempotency_keys where org_id = old.id) then
    raise exception 'org %: has jobs', old.id using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
  return old;
end
$$;
create trigger orgs_with_jobs_stay before delete on orgs for each row execute function postroom.keep_org();

-- Holders of a concurrency key: as many slots as its job type's serial_limit. Who waits for one is parked by the key.
create table serial_slots (
  serial_key text collate "C" not null,
  slot smallint not null check (slot > 0),
  job_id uuid not null,
  taken_at timestamptz not null default now(),
  primary key (serial_key, slot)
);
create index serial_slots_job on serial_slots (job_id);
grant select, insert, update, delete on serial_slots to postroom_ledger;

-- Tenants that have more jobs in a queue than their burst, so that all their new jobs wait for the relay; without an org:
-- the whole queue, because the broker holds enough. The relay removes a mark when nothing waits any more. No unique index,
-- because two enqueues that mark the same tenant must not wait for each other.
create table orgs_over_burst (
  queue text not null,
  org_id uuid,
  since timestamptz not null default now()
);
create index orgs_over_burst_tenant on orgs_over_burst (queue, org_id);
grant select, insert, delete on orgs_over_burst to postroom_ledger;

create table job_steps (
  job_id uuid not null references jobs (id) on delete cascade,
  org_id uuid not null references orgs (id),
  name text not null check (length(name) between 1 and 200),
  result jsonb not null,
  attempt smallint not null,
  cost_microcents bigint not null default 0 check (cost_microcents >= 0),
  at timestamptz not null default now(),
  primary key (job_id, name)
);
call postroom.fence_table('job_steps', 'org_id', 'select');
grant select, insert on job_steps to postroom_ledger;
grant select on job_steps to postroom_tenant;

-- The entries of the audit log; read them through the view `audit_log`. Append-only by grants and, against the owner's slips too, by trigger.
create table audit_entries (
  -- No primary key: nobody else gives ids than the sequence, and a unique index was a tenth of what PostgreSQL does for a
  -- light job (docs: 2026-11-22-the-audit-log-has-no-unique-index.md).
  -- Every other number, for an entry may stand for two events.
  id bigint not null generated always as identity (start with 2 increment by 2),
  at timestamptz not null default clock_timestamp(),
  -- Every job writes one of the first four; the expression alone would cost as much as the rest of their checks.
  event text not null check (event in ('job.enqueued', 'job.claimed', 'job.started', 'job.succeeded') or event ~ '^[a-z_]+\.[a-z_]+$'),
  org_id uuid not null,
  project_id uuid,
  actor_type text not null,
  actor_id text not null,
  request_id text not null,
  correlation_id text not null,
  job_id uuid,
  job_type text,
  attempt smallint,
  -- Whose claim an attempt was, and since when; not in `data`, which is searched for secrets.
  worker_id uuid,
  claimed_at timestamptz,
  -- Of an attempt whose start nobody wrote before it succeeded: when it began. The view makes two events of this one entry.
  began_at timestamptz check (began_at is null or event = 'job.succeeded'),
  -- Where a job comes from; its own row may be gone.
  parent_id uuid,
  replay_of uuid,
  data jsonb check (data is null or postroom.carries_secret(data) is null)
);
create index audit_entries_job on audit_entries (job_id) where job_id is not null;
-- For those who read the log on from where they were, in both parts of the view. Rows come in about the order of their ids.
create index audit_entries_order on audit_entries using brin (id) with (pages_per_range = 32, autosummarize = on);
create index audit_entries_starts on audit_entries using brin ((id - 1)) with (pages_per_range = 32, autosummarize = on)
  where began_at is not null;
create function postroom.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = '42501';
end
$$;
create trigger audit_entries_append_only before update or delete on audit_entries
  for each row execute function postroom.refuse_change();
create trigger audit_entries_no_truncate before truncate on audit_entries
  for each statement execute function postroom.refuse_change();
call postroom.fence_table('audit_entries', 'org_id', 'select');
create policy tenant_append on audit_entries for insert to postroom_tenant
  with check (org_id = (select postroom.current_org()) and event not like 'job.%');
grant select, insert on audit_entries to postroom_ledger;
-- Neither its number nor its time is a handler's to choose.
grant select, insert (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  on audit_entries to postroom_tenant;

-- The audit log: a row per event, by the order of their ids, with the columns of `audit_entries` but `began_at`. An org's handlers see
-- their own.
create view audit_log with (security_invoker = true) as
select id, at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
  case when began_at is null then worker_id end as worker_id, case when began_at is null then claimed_at end as claimed_at,
  parent_id, replay_of, data
from audit_entries
union all
select id - 1, began_at, 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
  worker_id, claimed_at, null, null, null
from audit_entries where began_at is not null;
grant select on audit_log to postroom_ledger, postroom_tenant;

create table dead_letters (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  job_id uuid not null unique,
  job_type text not null,
  queue text not null,
  payload jsonb not null,
  payload_version smallint not null,
  reason text not null,
  error jsonb not null,
  history jsonb not null default '[]',
  effects jsonb not null default '[]',
  plan text not null,
  state text not null default 'open' check (state in ('open', 'replayed', 'discarded')),
  replay_job_id uuid,
  resolution text,
  resolved_by text,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  constraint resolved_when_closed check ((state = 'open') = (resolved_at is null)),
  constraint replay_has_job check ((state = 'replayed') = (replay_job_id is not null))
);
create index dead_letters_open on dead_letters (created_at) where state = 'open';
call postroom.fence_table('dead_letters', 'org_id', 'select');
grant select, insert, update on dead_letters to postroom_ledger;
grant select on dead_letters to postroom_tenant;

-- What must not run now, and until when: an operator's pause, a provider's back-off, lost consent.
create table gates (
  scope text not null check (scope in ('fleet', 'queue', 'job_type', 'org', 'account', 'provider', 'org_provider')),
  key text not null check (length(key) <= 200),
  reason text not null check (length(reason) between 1 and 1000),
  until timestamptz,
  actor text not null,
  closed_at timestamptz not null default now(),
  primary key (scope, key)
);
grant select, insert, update, delete on gates to postroom_ledger;

-- Which data set of the broker the fleet last saw; another one means that its hints are gone.
create table broker_epochs (
  only_row boolean primary key default true check (only_row),
  epoch text not null,
  seen_at timestamptz not null default now()
);
grant select, insert, update on broker_epochs to postroom_ledger;

-- Broker messages that could not become jobs. Their content is not kept: it may be anything.
create table refused_messages (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  task text not null,
  task_id text not null,
  field text not null,
  reason text not null
);
grant select, insert on refused_messages to postroom_ledger;
