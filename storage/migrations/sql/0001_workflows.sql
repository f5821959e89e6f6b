-- Workflows: what they are, their runs, and where each node of a run stands (docs/explanation/workflows.md).

-- A name that somebody gives: of a workflow, or of an event.
create domain postroom.chosen_name as text collate "C" check (value ~ '^[a-z0-9][a-z0-9_-]{0,62}$');
create domain postroom.node_name as text collate "C" check (value ~ '^[a-z][a-z0-9_]{0,62}$');
-- What a run or a node gives, and what a run or an event brings.
create domain postroom.run_document as jsonb check (octet_length(value::text) <= 131072);
create domain postroom.run_input as jsonb check (jsonb_typeof(value) = 'object' and octet_length(value::text) <= 131072);
create domain postroom.run_state as text check (value in ('running', 'succeeded', 'failed', 'canceled'));
create domain postroom.run_reason as text check (length(value) between 1 and 1000);
create domain postroom.node_state as text check (value in ('pending', 'running', 'waiting', 'succeeded', 'failed', 'skipped', 'canceled'));
create domain postroom.node_item as integer check (value between -1 and 9999);
create domain postroom.pending_needs as smallint check (value between 0 and 100);
create domain postroom.node_input as jsonb check (octet_length(value::text) <= 524288);
create domain postroom.output_refused as text check (length(value) <= 1000);
create domain postroom.skipped_because as text check (length(value) between 1 and 100);
create domain postroom.stopped_for as text check (value in ('canceled', 'deadline', 'timeout'));
-- Closed: what a job is waited for by is called as the owner of hooks.
create domain postroom.waiting_hook as text check (value in ('workflow_nodes_ended'));

-- Jobs of whose end a hook hears whatever their type is. Looked up for jobs with a parent alone. The row goes with the call of the hook.
create table job_waiters (
  job_id uuid not null,
  org_id uuid not null references orgs (id) not enforced,
  hook postroom.waiting_hook not null,
  -- Of a hook that could not be called with the end of the job, by which time the job's row may be gone.
  facts jsonb,
  primary key (job_id, org_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
create index job_waiters_uncalled on job_waiters (org_id, hook, job_id) where facts is not null;
call postroom.fence_table('job_waiters');
call postroom.erasure_rule('job_waiters');
grant select on job_waiters to postroom_ledger;
grant select (job_id, org_id, hook), insert (job_id, org_id, hook) on job_waiters to postroom_tenant;

-- Append only: a run keeps to the version that it began with. A text and not JSONB, which forgets the order of the
-- nodes.
create table workflow_definitions (
  org_id uuid not null references orgs (id),
  -- The form of a name is checked here, too: an erasure looks for people in all other texts, and a name is referred to.
  name postroom.chosen_name not null,
  version integer not null check (version > 0),
  document text not null check (document is json object and octet_length(document) <= 262144)
    constraint workflow_definitions_document_carries_no_secret
    check (case when postroom.carries_secret(document::jsonb) is null then true
      else postroom.refuse_secret_in('document', document::jsonb) end),
  hash bytea not null check (octet_length(hash) = 32),
  saved_by postroom.short_text not null,
  saved_at timestamptz not null default now(),
  primary key (org_id, name, version),
  constraint one_version_per_document unique (org_id, name, hash)
);
call postroom.fence_table('workflow_definitions', 'org_id', 'select');
call postroom.erasure_rule('workflow_definitions', refuses_new => true);
grant select, insert, delete on workflow_definitions to postroom_ledger;
grant select on workflow_definitions to postroom_tenant;

-- The id of a run is that of the job that started it; a run of another run's node has an id of its own.
create table workflow_runs (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  project_id uuid,
  workflow postroom.chosen_name not null,
  version integer not null,
  -- Versions of the workflows that it runs, by name: the latest ones when it began.
  pins jsonb not null default '{}',
  input postroom.run_input not null,
  state postroom.run_state not null default 'running',
  output postroom.run_document,
  -- {"code": ..., "reason": ..., "node": ...}; of a run that is still running: why it is being stopped.
  failure jsonb,
  -- Rises with each resume.
  round smallint not null default 1,
  -- Nodes that have not ended, or whose end is not counted yet. The advance alone counts.
  nodes_left integer not null,
  items integer not null default 0,
  deadline_at timestamptz,
  -- The next advance that is due by time, and when; one that is due later is enqueued by the advance before it.
  timer_at timestamptz,
  timer_job uuid,
  parent_run uuid,
  parent_node postroom.node_name,
  parent_item integer,
  -- The outermost run around it.
  root_run uuid,
  depth smallint not null default 0,
  -- Those of the job that started it: in whose name its jobs are.
  actor_type text not null check (actor_type in ('user', 'system', 'api_key')),
  actor_id postroom.short_text not null,
  request_id postroom.short_text not null,
  correlation_id postroom.short_text not null,
  cost_microcents postroom.whole_number not null default 0,
  created_at timestamptz not null default now(),
  resumed_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  cancel_reason postroom.run_reason,
  foreign key (org_id, workflow, version) references workflow_definitions (org_id, name, version),
  constraint runs_of_org unique (org_id, id),
  constraint counts_are_bounded check (round > 0 and nodes_left between 0 and 1000 and items between 0 and 10000 and depth between 0 and 5),
  constraint ended_when_finished check ((state <> 'running') = (finished_at is not null)),
  constraint failed_for_a_reason check (state <> 'failed' or failure is not null),
  constraint parent_is_whole check (num_nonnulls(parent_run, parent_node, parent_item, root_run) in (0, 4)),
  constraint canceled_for_a_reason check ((cancel_requested_at is null) = (cancel_reason is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
create index workflow_runs_newest on workflow_runs (org_id, created_at desc, id desc);
create index workflow_runs_of_workflow on workflow_runs (org_id, workflow, created_at desc, id desc);
create index workflow_runs_failed on workflow_runs (org_id, workflow, finished_at, id) where state = 'failed' and parent_run is null;
create index workflow_runs_children on workflow_runs (parent_run) where parent_run is not null;
create index workflow_runs_inside on workflow_runs (root_run) where root_run is not null;
create index workflow_runs_over on workflow_runs (finished_at, id) where finished_at is not null and parent_run is null;
-- For the check that each run has something to wait for.
create index workflow_runs_running on workflow_runs (id) where state = 'running';
call postroom.fence_project_table('workflow_runs');
call postroom.erasure_rule('workflow_runs', refuses_new => true);
grant select, insert, update, delete on workflow_runs to postroom_ledger;
grant select, insert on workflow_runs to postroom_tenant;
-- By column: the right to update a whole table is the right to lock it.
grant update (version, pins, state, output, failure, round, nodes_left, items, deadline_at, timer_at, timer_job, cost_microcents, resumed_at, finished_at, cancel_requested_at, cancel_reason)
  on workflow_runs to postroom_tenant;

-- What stands of a run under its `run_id`: a transaction of a project sees that of the runs that it sees.
create table workflow_nodes (
  run_id uuid not null,
  node postroom.node_name not null,
  -- -1: the node itself; from 0 on: an item of a node with `for_each`, from its begin on.
  item postroom.node_item not null default -1,
  org_id uuid not null references orgs (id) not enforced,
  state postroom.node_state not null default 'pending',
  -- Needs whose end is not counted yet. Who makes it zero looks whether the node runs.
  pending postroom.pending_needs not null default 0,
  -- Nodes that need it. No type in which an erasure looks for words: a name that it changed here alone would be waited for for ever.
  dependants postroom.node_name[] not null default '{}',
  -- Whether its end is counted where it is waited for: by the nodes that need it, and by its node if it is an item.
  counted boolean not null default false,
  job_id uuid,
  child_run uuid,
  -- Why the work was asked to stop, which decides how the node ends when the work does.
  stopped_for postroom.stopped_for,
  -- What its work was given; of a node with `for_each`, the list.
  input postroom.node_input,
  output postroom.run_document,
  -- Why there is no output of a node that succeeded.
  output_refused postroom.output_refused,
  -- {"code": ..., "reason": ...}
  error jsonb,
  skipped_because postroom.skipped_because,
  -- The event that it waits for, from the begin of the run on.
  wait_name postroom.chosen_name,
  -- When its time is over: of a wait, or of work with a timeout.
  wait_until timestamptz,
  -- Who is asked names the node so; another one for each time that a wait begins.
  approval_id uuid,
  roles text[],
  decided_by postroom.short_text,
  decided_at timestamptz,
  decision_reason postroom.run_reason,
  items_total integer,
  items_started integer,
  items_done integer,
  items_failed integer,
  items_canceled integer,
  round smallint not null default 1,
  cost_microcents postroom.whole_number not null default 0,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (run_id, node, item),
  -- Checked row by row it would be a tenth of what a fan-out writes; runs are deleted after their nodes and events.
  foreign key (org_id, run_id) references workflow_runs (org_id, id) not enforced,
  constraint node_ended_when_finished
    check ((state in ('succeeded', 'failed', 'skipped', 'canceled')) = (finished_at is not null)),
  constraint counted_when_ended check (finished_at is not null or not counted),
  constraint node_failed_for_a_reason check (state <> 'failed' or error is not null),
  constraint asked_until_some_time check (approval_id is null or wait_until is not null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
create index workflow_nodes_job on workflow_nodes (job_id) where job_id is not null;
create index workflow_nodes_uncounted on workflow_nodes (run_id, node, item) where finished_at is not null and not counted;
create index workflow_nodes_next on workflow_nodes (run_id, item, node) where state = 'pending' and pending = 0;
create index workflow_nodes_timed on workflow_nodes (run_id, wait_until) where wait_until is not null and finished_at is null;
create index workflow_nodes_open on workflow_nodes (run_id, node, item) where finished_at is null and (items_total is not null or wait_name is not null);
create unique index workflow_nodes_approval on workflow_nodes (approval_id) where approval_id is not null;
create index workflow_nodes_asking on workflow_nodes (org_id, started_at desc, approval_id desc)
  where state = 'waiting' and approval_id is not null;
call postroom.fence_table('workflow_nodes', seen_if =>
  '((select postroom.current_project()) is null or exists (select from public.workflow_runs r where r.id = run_id))');
call postroom.erasure_rule('workflow_nodes');
grant select, insert, update, delete on workflow_nodes to postroom_ledger;
grant select, insert on workflow_nodes to postroom_tenant;
grant update (state, pending, dependants, counted, job_id, child_run, stopped_for, input, output, output_refused, error, skipped_because, wait_name, wait_until,
  approval_id, roles, decided_by, decided_at, decision_reason, items_total, items_started, items_done, items_failed, items_canceled, round,
  cost_microcents, started_at, finished_at)
  on workflow_nodes to postroom_tenant;

-- Sent to a run, by name. One that comes before its wait is kept; each is taken once, the oldest first.
create table workflow_events (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id) not enforced,
  run_id uuid not null,
  name postroom.chosen_name not null,
  payload jsonb not null check (octet_length(payload::text) <= 131072)
    constraint workflow_events_payload_carries_no_secret
    check (case when postroom.carries_secret(payload) is null then true else postroom.refuse_secret_in('payload', payload) end),
  sent_by postroom.short_text not null,
  at timestamptz not null default clock_timestamp(),
  taken_by_node postroom.node_name,
  taken_by_item integer,
  foreign key (org_id, run_id) references workflow_runs (org_id, id) not enforced,
  constraint taken_by_whom check ((taken_by_node is null) = (taken_by_item is null))
);
create index workflow_events_of_run on workflow_events (run_id, at, id);
create index workflow_events_kept on workflow_events (run_id, name, at, id) where taken_by_node is null;
call postroom.fence_table('workflow_events', seen_if =>
  '((select postroom.current_project()) is null or exists (select from public.workflow_runs r where r.id = run_id))');
call postroom.erasure_rule('workflow_events');
grant select, insert, update, delete on workflow_events to postroom_ledger;
grant select on workflow_events to postroom_tenant;
grant update (taken_by_node, taken_by_item) on workflow_events to postroom_tenant;
