-- What people do to all jobs that a filter matches, and how far it is. An operator's of the fleet is the system org's.
create table bulk_actions (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  verb text not null check (verb in ('retry', 'replay', 'cancel', 'discard', 'mend')),
  filter jsonb not null check (jsonb_typeof(filter) = 'object'),
  patch jsonb check (jsonb_typeof(patch) = 'object'),
  reason text not null check (length(reason) between 1 and 1000),
  per_minute integer not null check (per_minute between 1 and 60000),
  state text not null default 'running' check (state in ('proposed', 'running', 'aborted', 'finished')),
  -- Why its job has ended before it, which has aborted it.
  stopped text check (length(stopped) between 1 and 1000),
  -- Whether it is for so many that another person than whoever started it has to let it run.
  needs_another boolean not null default false,
  -- How many matched when it was begun, so that it is for no more. Null: not all were counted.
  most_jobs integer check (most_jobs >= 0),
  -- No job or letter that came later is meant.
  frozen_at timestamptz not null default now(),
  -- All up to this id are done or skipped, but for those that come again. Null: there are no more.
  after_id uuid default '00000000-0000-0000-0000-000000000000',
  next_batch_at timestamptz not null default now(),
  done integer not null default 0 check (done >= 0),
  skipped integer not null default 0 check (skipped >= 0),
  actor_type postroom.actor_type not null,
  actor_id postroom.actor_id not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint mend_has_patch check ((verb = 'mend') = (patch is not null)),
  constraint finished_has_time check ((state = 'finished') = (finished_at is not null))
);
create index bulk_actions_of_org on bulk_actions (org_id, id);
create index bulk_actions_over on bulk_actions (created_at);
call postroom.fence_table('bulk_actions', 'org_id', 'select');
call postroom.erasure_rule('bulk_actions', refuses_new => true);
grant select, insert, update, delete on bulk_actions to postroom_ledger;
grant select on bulk_actions to postroom_tenant;

-- What became of each job of a bulk action: a row that is no `again` says that nothing more is done to it.
create table bulk_action_jobs (
  bulk_id uuid not null references bulk_actions (id) on delete cascade,
  -- The job's id, or its letter's.
  subject_id uuid not null,
  org_id uuid not null references orgs (id) not enforced,
  job_id uuid not null,
  -- Whose job it is.
  job_org_id uuid not null,
  state text not null check (state in ('done', 'skipped', 'again')),
  reason text check (length(reason) between 1 and 1000),
  made_job_id uuid,
  -- How often in vain.
  tries smallint not null default 0,
  primary key (bulk_id, subject_id),
  constraint reason_unless_done check ((state = 'done') = (reason is null))
);
create index bulk_action_jobs_left on bulk_action_jobs (bulk_id, state, subject_id) where state <> 'done';
call postroom.fence_table('bulk_action_jobs', 'org_id', 'select');
call postroom.erasure_rule('bulk_action_jobs');
grant select, insert, update, delete on bulk_action_jobs to postroom_ledger;
grant select on bulk_action_jobs to postroom_tenant;
