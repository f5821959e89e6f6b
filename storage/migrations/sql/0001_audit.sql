-- Every job writes one of the first four; the expression alone would cost as much as the rest of an entry's checks.
create domain postroom.event as text check (value in ('job.enqueued', 'job.claimed', 'job.started', 'job.succeeded') or value ~ '^[a-z_]+\.[a-z_]+$');
create domain postroom.event_data as jsonb check (postroom.carries_secret(value) is null);

-- The entries of the audit log; read them through the view `audit_log`. Append-only by grants and, against the owner's slips too, by trigger.
create table audit_entries (
  -- No primary key: nobody else gives ids than the sequence, and a unique index was a tenth of what PostgreSQL does for a
  -- short job (docs: 2026-11-22-the-audit-log-has-no-unique-index.md).
  -- Every other number, for an entry may stand for two events.
  id bigint not null generated always as identity (start with 2 increment by 2),
  at timestamptz not null default clock_timestamp(),
  event postroom.event not null,
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
  data postroom.event_data
) with (
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false,
  -- New pages are vacuumed in portions of one size. By PostgreSQL's default a portion is a fifth of the table: it grows with the log, and
  -- while it is written to the write-ahead log, settlements wait.
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000
);
create index audit_entries_job on audit_entries (job_id) where job_id is not null;
-- For those who read the log on from where they were, in both parts of the view. Rows come in about the order of their ids.
create index audit_entries_order on audit_entries using brin (id) with (pages_per_range = 32, autosummarize = on);
create index audit_entries_starts on audit_entries using brin ((id - 1)) with (pages_per_range = 32, autosummarize = on)
  where began_at is not null;
-- For lists of what happened. What each costs: docs/decisions/2026-11-24-the-audit-log-leaves-by-exports.md.
create index audit_entries_other on audit_entries (org_id, id) where event not like 'job.%' or event = 'job.replayed';
-- Of all orgs. An org's list does not say `id > 0`: it would read the others' events here, where few orgs have any.
create index audit_entries_deeds on audit_entries (id) where id > 0 and (event not like 'job.%' or event = 'job.replayed');
-- By name, and the deaths of jobs as well.
create index audit_entries_named on audit_entries (org_id, event, id) where event not like 'job.%' or event in ('job.replayed', 'job.deadlettered');
create index audit_entries_correlation on audit_entries (correlation_id)
  where job_id is null or (event = 'job.enqueued' and correlation_id <> job_id::text);
call postroom.fence_project_table('audit_entries', 'project_id', 'select');
-- The facts stay, with ids. An operator is of no org.
call postroom.erasure_rule('audit_entries', org_keeps => $${
  "data": "null",
  "actor_id": "case when actor_id like 'operator:%' then actor_id else 'erased' end",
  "request_id": "case when request_id ~ '^[0-9a-f-]{36}$' then request_id else 'erased' end",
  "correlation_id": "case when correlation_id ~ '^[0-9a-f-]{36}$' then correlation_id else 'erased' end"
}$$);
-- Nobody but the owner's functions chooses an entry's number or its time. A handler appends by postroom.append_event.
grant select, insert (
  event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, worker_id, claimed_at, parent_id,
  replay_of, data
) on audit_entries to postroom_ledger;
grant select on audit_entries to postroom_tenant;
-- What postroom_auditor needs of its org's events to say what they changed.
create policy auditor_own on audit_entries for select to postroom_auditor using (org_id = (select postroom.current_org()));
grant select (id, at, event, org_id, data) on audit_entries to postroom_auditor;
-- The events that are enriched, for who looks for those that lack details.
create index audit_entries_changes on audit_entries (org_id, id) where event = 'run_sheet.changed';

-- The audit log: a row per event, by the order of their ids, with the columns of `audit_entries` but `began_at`. An org's handlers see
-- their own. Both parts have columns of the same types, or PostgreSQL would not look into them by their indexes in order.
create view audit_log with (security_invoker = true) as
select id, at, event::text as event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
  case when began_at is null then worker_id end as worker_id, case when began_at is null then claimed_at end as claimed_at,
  parent_id, replay_of, data::jsonb as data
from audit_entries
union all
select id - 1, began_at, 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
  worker_id, claimed_at, null, null, null
from audit_entries where began_at is not null;
grant select on audit_log to postroom_ledger, postroom_tenant;

-- What events changed, for people to read: derived from an event by the rules of a version, beside the log and never in it. The newest
-- version counts, and older ones stay. Details leave with their entry (docs/explanation/audit-details.md).
create table audit_details (
  org_id uuid not null references orgs (id),
  rule_version smallint not null check (rule_version > 0),
  event_id bigint not null check (event_id > 0),
  -- The kind of thing that changed; its id and revision are null where the rules could not read them.
  subject text not null check (subject ~ '^[a-z_]{1,40}$'),
  subject_id uuid,
  revision integer check (revision > 0),
  -- A JSON Patch (RFC 6902) whose paths go by ids, never by the number of an item in a list. Each operation has `was`, too.
  changes jsonb not null check (jsonb_typeof(changes) = 'array' and octet_length(changes::text) <= 1048576),
  sentences jsonb not null check (jsonb_typeof(sentences) = 'array' and octet_length(sentences::text) <= 1048576),
  -- The job that made them.
  made_by uuid not null,
  made_at timestamptz not null default now(),
  primary key (org_id, rule_version, event_id),
  constraint audit_details_carry_no_secret check (postroom.carries_secret(jsonb_build_object('changes', changes, 'sentences', sentences)) is null)
);
create index audit_details_of_event on audit_details (org_id, event_id, rule_version);
create index audit_details_of_subject on audit_details (org_id, subject_id, event_id, rule_version) where subject_id is not null;
-- They name no project: a transaction of a project sees none.
call postroom.fence_table('audit_details', 'org_id', 'select', seen_if => '(select postroom.current_project()) is null');
call postroom.erasure_rule('audit_details');
create policy auditor_sees_own on audit_details for select to postroom_auditor using (org_id = (select postroom.current_org()));
create policy auditor_adds_own on audit_details for insert to postroom_auditor with check (org_id = (select postroom.current_org()));
grant select on audit_details to postroom_ledger, postroom_tenant, postroom_auditor;
-- Not `made_at`: the time is the database's.
grant insert (org_id, rule_version, event_id, subject, subject_id, revision, changes, sentences, made_by) on audit_details
  to postroom_auditor;

-- The files that the log was written to, and how far each is deleted (docs/explanation/audit-log.md). An export begins where the last one
-- ended, so every entry stands in one file. It is written down before its file is begun, so that a repetition after a crash makes the
-- same file.
create table audit_exports (
  -- Of the entries with after_id < id <= upto_id.
  upto_id bigint primary key,
  after_id bigint not null unique,
  begun_at timestamptz not null default now(),
  -- Null until the file is on its disk.
  exported_at timestamptz,
  events bigint check (events >= 0),
  entries bigint,
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  -- The newest of its entries; null when there were none, for a transaction that is rolled back leaves numbers unused.
  newest_at timestamptz,
  deleted bigint not null default 0,
  -- Which blocks of the table are still to be looked through for its entries, and which were and keep some: of jobs that live. A row
  -- never moves, but for a rewrite of the whole table, which gives it another file.
  to_look_at int8multirange,
  keeping int8multirange not null default '{}',
  table_file oid,
  look_from timestamptz not null default now(),
  emptied_at timestamptz,
  constraint range_has_numbers check (after_id >= 0 and upto_id > after_id),
  constraint exported_with_checksum check (num_nonnulls(exported_at, events, entries, sha256, to_look_at, table_file) in (0, 6)),
  constraint emptied_when_exported check (emptied_at is null or exported_at is not null)
);
create index audit_exports_to_empty on audit_exports (upto_id) where exported_at is not null and emptied_at is null;
create unique index audit_exports_begun on audit_exports ((true)) where exported_at is null;
call postroom.erasure_rule('audit_exports', org_rows => null);
grant select on audit_exports to postroom_ledger;
