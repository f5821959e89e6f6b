-- The history of jobs (docs/explanation/counting.md), written by the process that counts the audit log, in the transaction that counts. What
-- happens is added to a row of each span, by UTC; the rows of short spans are kept for a shorter time. Columns that change are in no index, so
-- that a change stays a HOT update.

-- What happened to the jobs of a type in a span of time. The counts are those of the metrics (domain/jobs/monitoring/metrics.py).
create table job_minutes (
  -- When the span begins, and its length in minutes.
  minute timestamptz not null,
  span smallint not null default 1 check (span in (1, 10, 60, 1440)),
  job_type text not null,
  queue text not null,
  enqueued bigint not null,
  started bigint not null,
  retried bigint not null,
  succeeded bigint not null,
  -- Ended as `failed` or `dead`; `dead` has how many of them became dead letters.
  failed bigint not null,
  dead bigint not null,
  canceled bigint not null,
  lost bigint not null,
  -- Of the attempts that ended: how long they ran in all, and how many of them ran for how long, by the bounds of jobs_duration_seconds.
  seconds double precision not null,
  histogram integer[] not null check (cardinality(histogram) = 17),
  microcents bigint not null,
  primary key (job_type, span, minute, queue)
) with (fillfactor = 70);
create index job_minutes_in_order on job_minutes (span, minute);
call postroom.erasure_rule('job_minutes', org_rows => null);
grant select, insert, update, delete on job_minutes to postroom_ledger;
grant select on job_minutes to postroom_watch;

-- The same of an org, by the hour.
create table org_hours (
  hour timestamptz not null,
  org_id uuid not null,
  job_type text not null,
  enqueued bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  dead bigint not null,
  canceled bigint not null,
  seconds double precision not null,
  microcents bigint not null,
  primary key (org_id, hour, job_type)
) with (fillfactor = 70);
create index org_hours_of_type on org_hours (org_id, job_type, hour);
create index org_hours_in_order on org_hours (hour, org_id, job_type);
call postroom.fence_table('org_hours', tenant_may => 'select', seen_if => '(select postroom.current_project()) is null');
-- Numbers alone: they stay, for the fleet's sums to stay right.
call postroom.erasure_rule('org_hours', org_keeps => '{}');
grant select, insert, update, delete on org_hours to postroom_ledger;
create policy watch_all on org_hours for select to postroom_watch using (true);
grant select on org_hours to postroom_tenant, postroom_watch;

-- What waited in each queue: the most of each that was measured in a span of time.
create table queue_samples (
  minute timestamptz not null,
  span smallint not null default 1 check (span in (1, 10, 60, 1440)),
  queue text not null,
  due integer not null,
  backlog integer not null,
  published integer not null,
  parked integer not null,
  held integer not null,
  -- For how many seconds the oldest job that was due, in the backlog or published had been due.
  oldest_due_s double precision not null,
  -- How many jobs the workers that served it ran at a time; one that serves several queues counts for each.
  slots integer not null default 0,
  primary key (span, minute, queue)
) with (fillfactor = 70);
call postroom.erasure_rule('queue_samples', org_rows => null);
grant select, insert, update, delete on queue_samples to postroom_ledger;
grant select on queue_samples to postroom_watch;

-- Jobs that ended as `failed` or `dead`, by the kind of their failure (domain/jobs/monitoring/failure_kinds.py).
create table failure_groups (
  fingerprint text primary key,
  code text not null,
  job_type text not null,
  -- What their errors say, without ids, numbers and quotes.
  words text not null check (length(words) <= 200),
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  failures bigint not null check (failures > 0),
  -- The newest of them, the newest first.
  job_ids uuid[] not null check (cardinality(job_ids) between 1 and 20),
  -- In which release it was seen last, by order of releases; where the worker said so.
  seen_in text check (length(seen_in) between 1 and 100),
  -- A mended kind that is seen again is new; where it is known which release mends it, in that one or a later one.
  state text not null default 'new' check (state in ('new', 'known', 'mended')),
  note text check (length(note) between 1 and 1000),
  mended_in text check (length(mended_in) between 1 and 100),
  marked_by text,
  marked_at timestamptz,
  -- Since when a kind is new that was mended.
  reopened_at timestamptz,
  constraint marked_by_somebody check (state = 'new' or (marked_by is not null and marked_at is not null))
) with (fillfactor = 70);
-- The state is in no index: kinds are few.
create index failure_groups_last_seen on failure_groups (last_seen desc, fingerprint desc);
call postroom.erasure_rule('failure_groups', org_rows => null);
grant select, insert, update, delete on failure_groups to postroom_ledger;
grant select on failure_groups to postroom_watch;
