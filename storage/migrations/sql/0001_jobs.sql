-- The values of hot tables are of domains. PostgreSQL reads and plans a table's checks in each statement that writes, and makes them of every
-- version of a row; a domain's check is read once a session, and is made of a value that is written: a claim and a settlement write few.
-- Each has its column's name, or that of what several columns hold, so that a refusal names the field.
-- Of money, bytes, tokens or versions.
create domain postroom.whole_number as bigint check (value >= 0);
create domain postroom.short_text as text check (length(value) between 1 and 200);
create domain postroom.job_type as text
  constraint job_type_is_bounded check (case
    when length(value) not between 1 and 100 then postroom.refuse_length('job_type', value, 100) else true end);
create domain postroom.queue as text
  check (value in ('critical', 'default', 'notifications', 'planning', 'exports', 'maintenance', 'deadletter'));
create domain postroom.job_state as text constraint jobs_state_check check (
  value in ('queued', 'claimed', 'running', 'succeeded', 'failed', 'dead', 'canceled'));
create domain postroom.parked_by as text collate "C" check (value ~ '^(gate|key):');
create domain postroom.cancel_reason as text constraint jobs_cancel_reason_check check (length(value) <= 1000);
-- One that no worker can read would end each worker that claims it (domain/jobs/nesting.py). The empty document is not searched for
-- secrets: the search took 1.9 microseconds of the 20 that a settlement takes.
create domain postroom.payload as jsonb
  constraint payload_is_bounded check (case
    when jsonb_typeof(value) = 'object' and octet_length(value::text) <= 262144 and not jsonb_path_exists(value, 'strict $.**{65}') then true
    else postroom.refuse_payload(value) end)
  constraint carries_no_secret check (case
    when value = '{}' or postroom.carries_secret(value) is null then true else postroom.refuse_secret(value) end);
create domain postroom.output as jsonb
  constraint carries_no_secret check (case
    when value = '{}' or postroom.carries_secret(value) is null then true else postroom.refuse_secret_in('output', value) end);
create domain postroom.step_result as jsonb
  constraint carries_no_secret check (case when postroom.carries_secret(value) is null then true else postroom.refuse_secret_in('result', value) end);
-- Ids, and most other values, are made of characters that make no secret (domain/orgs/privacy/secrets.py), which is seen in a third of the time.
create domain postroom.idempotency_key as text
  constraint idempotency_key_is_bounded check (case
    when length(value) not between 1 and 400 then postroom.refuse_length('idempotency_key', value, 400) else true end)
  constraint carries_no_secret check (case when value !~ '[^0-9a-fhijl-wyz-]' then true
    when postroom.looks_secret(value) then postroom.refuse_secret_as('idempotency_key', value) else true end);
create domain postroom.serial_key as text check (length(value) <= 400);
create domain postroom.actor_type as text
  constraint actor_type_is_known check (case when value not in ('user', 'system', 'api_key')
    then postroom.refuse('actor_type', 'Input should be ''user'', ''system'' or ''api_key''') else true end);
create domain postroom.actor_id as text
  constraint actor_id_is_bounded check (case
    when length(value) not between 1 and 200 then postroom.refuse_length('actor_id', value, 200) else true end)
  constraint carries_no_secret check (case when value !~ '[^0-9a-fhijl-wyz-]' then true
    when postroom.looks_secret(value) then postroom.refuse_secret_as('actor_id', value) else true end);
create domain postroom.request_id as text
  constraint request_id_is_bounded check (case
    when length(value) not between 1 and 200 then postroom.refuse_length('request_id', value, 200) else true end)
  constraint carries_no_secret check (case when value !~ '[^0-9a-fhijl-wyz-]' then true
    when postroom.looks_secret(value) then postroom.refuse_secret_as('request_id', value) else true end);
create domain postroom.correlation_id as text
  constraint correlation_id_is_bounded check (case
    when length(value) not between 1 and 200 then postroom.refuse_length('correlation_id', value, 200) else true end)
  constraint carries_no_secret check (case when value !~ '[^0-9a-fhijl-wyz-]' then true
    when postroom.looks_secret(value) then postroom.refuse_secret_as('correlation_id', value) else true end);
create domain postroom.traceparent as text
  constraint traceparent_is_bounded check (case
    when length(value) not between 0 and 200 then postroom.refuse_length('traceparent', value, 200) else true end);
create domain postroom.priority as smallint
  constraint priority_is_bounded check (case
    when value not between -100 and 100 then postroom.refuse_number('priority', value, -100, 100) else true end);
create domain postroom.payload_version as smallint
  constraint payload_version_is_bounded check (case
    when value not between 1 and 1000 then postroom.refuse_number('payload_version', value, 1, 1000) else true end);
create domain postroom.max_attempts as smallint
  constraint max_attempts_is_bounded check (case
    when value not between 1 and 100 then postroom.refuse_number('max_attempts', value, 1, 100) else true end);
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
-- backlog_since: it is due since then and not published. It stays there until it is claimed: when its turn has come the relay
--   asks for claims from the backlog, and a worker claims the oldest.
-- parked_by: it waits for a gate to open (gate:<scope>:<key>) or for its concurrency key (key:<serial_key>), and nobody
--   looks at it before that happens.
create table jobs (
  -- Its index and the audit log's begin half full: what a claim and a settlement add stands beside the first entry, and
  -- would split a page that the enqueueing had filled.
  id uuid default uuidv7() primary key with (fillfactor = 50),
  -- Looked up once per statement (require_orgs) by those that insert; row by row the key was a tenth of an enqueue.
  org_id uuid not null references orgs (id) not enforced,
  project_id uuid,
  job_type postroom.job_type not null,
  queue postroom.queue not null,
  state postroom.job_state not null default 'queued',
  priority postroom.priority not null default 0,
  payload postroom.payload not null,
  payload_version postroom.payload_version not null,
  idempotency_key postroom.idempotency_key not null,
  guarded boolean not null,
  -- Set for the few jobs whose sender wants the result, so that the end of all others pays for a look at this column and for no more.
  result_wanted boolean not null default false,
  serial_key postroom.serial_key,
  actor_type postroom.actor_type not null,
  actor_id postroom.actor_id not null,
  request_id postroom.request_id not null,
  correlation_id postroom.correlation_id not null,
  traceparent postroom.traceparent,
  parent_id uuid,
  replay_of uuid,
  attempt smallint not null default 0,
  max_attempts postroom.max_attempts not null,
  -- A job's own retry: seconds before the first one, and the most between two attempts. Null is what the type's policy says.
  retry_base_s integer,
  retry_cap_s integer,
  losses smallint not null default 0,
  -- How often a job went back to its queue without having spent an attempt (domain.jobs.lifecycle has the bounds).
  free_returns integer not null default 0,
  suspect boolean not null default false,
  deadline postroom.deadline not null,
  created_at postroom.created_at not null default now(),
  run_at postroom.run_at not null default now(),
  expires_at postroom.expires_at,
  published_at timestamptz,
  next_check_at timestamptz,
  backlog_since timestamptz,
  parked_by postroom.parked_by,
  claim_token uuid,
  worker_id uuid,
  claimed_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason postroom.cancel_reason,
  progress jsonb,
  output postroom.output,
  error jsonb,
  cost_microcents postroom.whole_number not null default 0,
  -- When a job was made whose id does not say so: it is no UUIDv7, or its time is not about the job's, or not about that of its row. All other jobs are found in order by
  -- their ids. The trigger jobs_are_foreign writes it, and only such jobs have an entry in its index. A generated column would be computed
  -- anew at each claim and each settlement, and cost PostgreSQL half as much CPU again for both.
  foreign_at timestamptz,
  constraint counts_are_bounded check (attempt between 0 and max_attempts and losses >= 0 and free_returns >= 0),
  constraint final_when_finished check ((state in ('succeeded', 'failed', 'dead', 'canceled')) = (finished_at is not null)),
  constraint claimed_with_token check ((state in ('claimed', 'running')) = (claim_token is not null and worker_id is not null and claimed_at is not null)),
  constraint running_was_started check (state <> 'running' or (started_at is not null and attempt > 0)),
  constraint one_waiting_state_until_finished check (num_nonnulls(next_check_at, backlog_since, parked_by) = (finished_at is null)::int),
  constraint only_queued_jobs_wait check (state = 'queued' or (backlog_since is null and parked_by is null)),
  constraint failure_has_error check (state not in ('failed', 'dead') or error is not null),
  constraint canceled_has_reason check (state <> 'canceled' or cancel_reason is not null)
) with (
  fillfactor = 70,
  -- A vacuum may use more of the disk than PostgreSQL's default, which a fleet of 2,000 jobs/s outruns. It does not shorten the file: it
  -- would lock the table against everybody to do so, and the space is needed again. An operator may change these.
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false
);
-- What a worker is told of a job that it has claimed, in the order of ClaimedJob and Origin (domain/jobs/job.py).
create type postroom.claimed_job as (
  job_id uuid, job_type postroom.job_type, queue postroom.queue, org_id uuid, project_id uuid, payload postroom.payload,
  payload_version postroom.payload_version, attempt smallint, max_attempts postroom.max_attempts, losses smallint, deadline postroom.deadline,
  created_at postroom.created_at, started boolean, suspect boolean, returns integer, retry_base_s integer, retry_cap_s integer,
  actor_type postroom.actor_type, actor_id postroom.actor_id, request_id postroom.request_id, correlation_id postroom.correlation_id,
  traceparent postroom.traceparent
);
create index jobs_next_check on jobs (next_check_at) where next_check_at is not null;
create index jobs_backlog on jobs (queue, priority desc, org_id, backlog_since, id) where backlog_since is not null;
create index jobs_parked on jobs (parked_by, priority desc, run_at, id) where parked_by is not null;
-- Expired jobs behind a gate or a concurrency key: nobody claims them, so the relay looks for them.
create index jobs_parked_expiry on jobs (expires_at) where parked_by is not null and expires_at is not null;
-- For retention alone. A block-range index costs a settlement nothing, and jobs finish in about the order of their rows.
create index jobs_finished on jobs using brin (finished_at) with (pages_per_range = 32, autosummarize = on);
-- For lists. What each costs: docs/decisions/2026-11-23-indexes-for-lists.md.
create index jobs_foreign on jobs (foreign_at desc, id desc) where foreign_at is not null;
create index jobs_parent on jobs (parent_id, id) where parent_id is not null;
-- With what the fence asks, so that a list of an org is read from the index alone.
create index jobs_troubled on jobs (org_id, created_at desc, id desc) include (project_id) where error is not null or cancel_reason is not null;
call postroom.fence_project_table('jobs', 'project_id', 'select');
call postroom.erasure_rule('jobs', person_rows => 'finished_at is not null and (payload::text ~* the.ids or actor_id ~* the.ids)');
grant select, insert, update, delete on jobs to postroom_ledger;
-- Neither the token of a claim nor whose it is: whoever knows a token can write as its holder (promise P4).
grant select (
  id, org_id, project_id, job_type, queue, state, priority, payload, payload_version, idempotency_key, guarded, serial_key,
  actor_type, actor_id, request_id, correlation_id, traceparent, parent_id, replay_of, attempt, max_attempts, retry_base_s, retry_cap_s,
  losses, suspect, deadline, created_at, run_at, expires_at, published_at, next_check_at, backlog_since, parked_by, claimed_at,
  started_at, finished_at, cancel_requested_at, cancel_reason, progress, output, error, cost_microcents, foreign_at
) on jobs to postroom_tenant;

-- Jobs as lists show and find them. An org's handlers see their own.
create view job_lines with (security_invoker = true) as
select id, foreign_at, job_type, queue, state, org_id, priority, attempt, max_attempts, created_at, run_at, started_at, finished_at,
  error, cancel_reason, next_check_at, backlog_since, parked_by, payload, traceparent
from jobs;
grant select on job_lines to postroom_ledger, postroom_tenant;

create table job_steps (
  job_id uuid not null references jobs (id) on delete cascade,
  org_id uuid not null references orgs (id),
  name postroom.short_text not null,
  result postroom.step_result not null,
  attempt smallint not null,
  cost_microcents postroom.whole_number not null default 0,
  -- When the work of a step began; `at` is when its result was kept.
  started_at timestamptz,
  at timestamptz not null default now(),
  primary key (job_id, name)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
call postroom.fence_table_of_jobs('job_steps');
call postroom.erasure_rule('job_steps');
grant select, insert on job_steps to postroom_ledger;
grant select on job_steps to postroom_tenant;

create table dead_letters (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  job_id uuid not null,
  job_type text not null,
  queue postroom.queue not null,
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
  -- An id is free again when its job has left the ledger, for this org or another.
  constraint one_letter_per_job unique (job_id, org_id),
  constraint resolved_when_closed check ((state = 'open') = (resolved_at is null)),
  constraint replay_has_job check ((state = 'replayed') = (replay_job_id is not null))
);
create index dead_letters_open on dead_letters (created_at desc, id desc) where state = 'open';
create index dead_letters_newest on dead_letters (created_at desc, id desc);
create index dead_letters_of_org on dead_letters (org_id, created_at desc, id desc);
call postroom.fence_table_of_jobs('dead_letters');
call postroom.erasure_rule('dead_letters', person_rows => 'payload::text ~* the.ids');
grant select, insert, update on dead_letters to postroom_ledger;
grant select on dead_letters to postroom_tenant;
