-- The ledger: every job, its guards, steps and dead letter. docs/explanation/life-of-a-job.md describes them.

-- One row per process that runs jobs; renewing it keeps all the claims of the process.
create table workers (
  id uuid primary key,
  node_id uuid not null,
  hostname text not null,
  pid integer not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  -- Of which release it is, which queues it serves, and how many jobs it runs at a time.
  version text not null default '',
  queues text[] not null default '{}',
  slots integer not null default 0 check (slots >= 0),
  -- Whose job types it has beside the fleet's own.
  packages text[] not null default '{}'
);
create index workers_lease on workers (lease_until);
call postroom.erasure_rule('workers', org_rows => null);
grant select, insert, update, delete on workers to postroom_ledger;

-- Which relay leads: a leased row, which only the engine can touch. Nothing that a tenant can lock has a part in it.
create table relay_leader (
  only_row boolean primary key default true check (only_row),
  holder uuid not null,
  -- The backend of its session: when that is gone, its lease need not be waited for.
  backend_pid integer not null,
  backend_start timestamptz not null,
  hostname text not null,
  pid integer not null,
  leads_since timestamptz not null default clock_timestamp(),
  leads_until timestamptz not null
);
call postroom.erasure_rule('relay_leader', org_rows => null);
grant select, insert, update on relay_leader to postroom_ledger;

-- When the ledger was restored from a backup, and to which moment, of each org that it had: what the org's jobs of before did outside in
-- between, no row says. A row for each org, because the doubt goes with an org that moves, and one that comes brings its own.
create table restorations (
  org_id uuid not null references orgs (id),
  restored_at timestamptz not null,
  lost_from timestamptz not null check (lost_from <= restored_at),
  actor_id text not null,
  primary key (org_id, restored_at)
);
create index restorations_by_time on restorations (restored_at);
call postroom.erasure_rule('restorations');
grant select, insert, delete on restorations to postroom_ledger;
grant update (restored_at) on restorations to postroom_ledger;  -- for the lock of what goes

-- Which data set of the broker the fleet last saw; another one means that its hints are gone.
create table broker_epochs (
  only_row boolean primary key default true check (only_row),
  epoch text not null,
  seen_at timestamptz not null default now()
);
call postroom.erasure_rule('broker_epochs', org_rows => null);
grant select, insert, update on broker_epochs to postroom_ledger;

-- Broker messages that could not become jobs, for 30 days. Their content may be anything, a secret among it, so it is sealed; null where
-- too much was kept that day.
create table refused_messages (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  task text not null,
  task_id text not null,
  field text not null,
  reason text not null,
  sealed_content bytea
);
create index refused_messages_by_time on refused_messages (at);
create index refused_contents_by_time on refused_messages (at) where sealed_content is not null;
call postroom.erasure_rule('refused_messages', org_rows => null);
grant select, insert, delete on refused_messages to postroom_ledger;
grant update (at) on refused_messages to postroom_ledger;  -- for the lock of what goes

-- What must not run now, and until when: an operator's pause, a provider's back-off, lost consent. A gate for each cause: what an operator
-- closed and what the fleet closed by itself stand side by side, and each is opened by its own.
create table gates (
  scope text not null check (scope in ('fleet', 'queue', 'job_type', 'org', 'account', 'provider', 'org_provider')),
  key text not null check (length(key) <= 200),
  -- What somebody adds by hand is a pause.
  cause text not null default 'pause' check (cause in ('pause', 'slow_down', 'consent', 'budget', 'move')),
  reason text not null check (length(reason) between 1 and 1000),
  until timestamptz,
  actor text not null,
  closed_at timestamptz not null default now(),
  -- For how long it was closed where the end was a guess; null for an end that somebody named.
  guess interval,
  primary key (scope, key, cause)
);
-- The gates that keep jobs back now. An ended one is remembered for its guess, and costs nobody the quick way.
create view closed_gates with (security_invoker = true) as select * from gates where until is null or until > now();
grant select on closed_gates to postroom_ledger;
call postroom.erasure_rule('gates',
  org_rows => $$(scope = 'org' and key = the.org::text and actor <> 'erasure')
    or (scope = 'org_provider' and key like the.org || ':%') or (scope = 'account' and key = any (the.accounts::text[]))
    or (scope = 'account' and key in (select a.id::text from accounts a where a.org_id = the.org))
    or (scope in ('fleet', 'queue', 'job_type', 'provider') and the.org = '00000000-0000-7000-8000-000000000000')$$,
  person_rows => $$scope = 'account' and key = any (the.accounts::text[])$$);
grant select, insert, update, delete on gates to postroom_ledger;

-- What the catalogue says of each job type, so that every producer decides alike; written by the workers at their start.
create table job_types (
  name text primary key check (name ~ '^[a-z_]+\.[a-z_]+$'),
  aliases text[] not null default '{}',
  queue text not null check (queue in ('critical', 'default', 'notifications', 'planning', 'exports', 'maintenance', 'deadletter')),
  payload_version smallint not null check (payload_version > 0),
  -- What the payloads of each version look like, so that SQL can check them (domain/payloads/shape.py makes it from the payload class):
  -- {"<version>": {"closed": true, "fields": {"<name>": {"types": ["string"], ...}}}}. A shape that was published stays.
  payload_shapes jsonb not null default '{}',
  max_attempts smallint not null check (max_attempts between 1 and 100),
  deadline interval not null check (deadline > interval '0'),
  unique_mode text check (unique_mode in ('while_queued', 'while_active', 'for_ttl')),
  unique_fields text[],
  keep_key_for interval not null,
  serial_field text,
  serial_limit smallint not null default 1 check (serial_limit between 1 and 1000),
  providers text[] not null default '{}',
  -- What handlers of the type may append to the audit log. Moves of jobs (job.*) are none of it: they are written with the move.
  audits text[] not null default '{}' check (array_to_string(audits, ' ') !~ '(^| )job\.'),
  -- The function postroom.<on_end>(jsonb) that is called when a job of this type ends.
  on_end text,
  -- Whether that hears of successes, too.
  hears_success boolean not null default true,
  -- How services ask for what the jobs do; null where services enqueue the jobs.
  asked_by text,
  -- Whose job type it is, by the first part of its module's name: two packages may not take one name.
  package text not null default 'postroom',
  seen_at timestamptz not null default now()
);
-- So that a type without a hook costs nothing at the end of its jobs.
create index job_types_hooked on job_types (name) where on_end is not null;
call postroom.erasure_rule('job_types', org_rows => null);
grant select, insert, update on job_types to postroom_ledger;
grant select on job_types to postroom_tenant;

-- Which hooks are deferred without being tried: one that timed out for an org, for five minutes, and one that waited for a lock, for ten
-- seconds. One that timed out for three orgs is deferred for all. No unique index: two statements that pause the same hook must not wait
-- for each other.
create table hook_pauses (
  org_id uuid not null references orgs (id) not enforced,
  hook text not null,
  cause text not null check (cause in ('timed_out', 'waited')),
  until timestamptz not null
);
create index hook_pauses_hook on hook_pauses (hook, org_id);
call postroom.fence_table('hook_pauses', 'org_id', 'select');
call postroom.erasure_rule('hook_pauses');
grant select on hook_pauses to postroom_ledger, postroom_tenant;

-- Hooks that could not run when their job ended, with their facts: the job's row may be deleted before they run. A row goes when its hook
-- has run, so that no hook runs twice, whoever asks for it.
create table owed_end_hooks (
  job_id uuid primary key,
  org_id uuid not null references orgs (id) not enforced,
  job_type text not null,
  facts jsonb not null,
  owed_since timestamptz not null default now()
);
call postroom.fence_table('owed_end_hooks', 'org_id', 'select');
call postroom.erasure_rule('owed_end_hooks', person_rows => 'facts::text ~* the.ids');
grant select on owed_end_hooks to postroom_ledger;

-- Holders of a concurrency key: as many slots as its job type's serial_limit. Who waits for one is parked by the key.
create table serial_slots (
  serial_key text collate "C" not null,
  slot smallint not null check (slot > 0),
  job_id uuid not null,
  taken_at timestamptz not null default now(),
  primary key (serial_key, slot)
);
create index serial_slots_job on serial_slots (job_id);
call postroom.erasure_rule('serial_slots', org_rows => $$split_part(serial_key, ':', 2) = the.org::text$$);
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
call postroom.erasure_rule('orgs_over_burst');
grant select, insert, delete on orgs_over_burst to postroom_ledger;
