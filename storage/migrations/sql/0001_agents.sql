-- Profiles of agents: what each is told and allowed. A change is a new version, so that a run can name the one it used. The newest
-- version of a name counts; one without an account is the whole org's, and an account's own goes before it.
create table agent_profiles (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  name text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  version integer not null check (version between 1 and 1000000),
  -- Prompt, model, tools, labels and limits, as domain/models/agents/profile.py reads them.
  definition jsonb not null check (
    jsonb_typeof(definition) = 'object' and octet_length(definition::text) <= 100000 and postroom.carries_secret(definition) is null),
  enabled boolean not null default true,
  disabled_reason text check (length(disabled_reason) between 1 and 300),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 200),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint one_version_each unique nulls not distinct (org_id, account_id, name, version),
  constraint only_disabled_profile_has_reason check (not enabled or disabled_reason is null)
);
call postroom.fence_table('agent_profiles');
call postroom.erasure_rule('agent_profiles', refuses_new => true);
grant select, insert, update on agent_profiles to postroom_ledger;
grant select on agent_profiles to postroom_tenant;

-- One run of an agent: one job. It stays when the job is deleted.
create table agent_runs (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  -- Null for a run that needs no mailbox.
  account_id uuid,
  job_id uuid not null,
  -- The message that the run looks after, and its thread; null for a run that was asked for otherwise.
  gmail_thread_id postroom.gmail_id,
  gmail_message_id postroom.gmail_id,
  -- The schedule that asked for it, which may be gone.
  schedule_id uuid,
  profile text not null check (length(profile) between 1 and 63),
  profile_version integer not null check (profile_version > 0),
  -- An account and its org may each have a profile of the same name and version.
  profile_id uuid not null,
  model text not null check (length(model) between 1 and 100),
  status text not null default 'running' check (status in ('running', 'succeeded', 'escalated', 'stopped', 'failed')),
  -- What it ran out of, where it was stopped.
  stopped_by text check (stopped_by in ('turns', 'money', 'time', 'context', 'canceled')),
  reason text check (length(reason) between 1 and 1000),
  turns integer not null default 0 check (turns >= 0),
  cost_microcents postroom.whole_number not null default 0,
  refused_calls integer not null default 0 check (refused_calls >= 0),
  pending_actions integer not null default 0 check (pending_actions >= 0),
  output_preview text not null default '' check (length(output_preview) <= 500),
  -- How long the attempts of a run have worked; no kind of waiting is in it.
  worked interval not null default '0' check (worked >= '0'),
  -- Until when that time is counted: of an attempt that is killed, the steps that it kept since then count.
  worked_until timestamptz not null default now(),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (org_id, job_id),
  unique (org_id, id),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint run_of_message_is_whole check (
    (gmail_thread_id is null) = (gmail_message_id is null) and (gmail_message_id is null or account_id is not null)),
  constraint run_of_message_has_no_schedule check (schedule_id is null or gmail_message_id is null),
  constraint finished_run_has_end check ((status = 'running') = (finished_at is null)),
  constraint ended_run_has_reason check (status = 'running' or reason is not null),
  constraint stopped_run_has_limit check ((status = 'stopped') = (stopped_by is not null))
);
create index agent_runs_message on agent_runs (org_id, account_id, gmail_message_id);
create index agent_runs_started on agent_runs (org_id, started_at desc);
call postroom.fence_table('agent_runs');
call postroom.erasure_rule('agent_runs');
grant select, insert, update, delete on agent_runs to postroom_ledger;
grant select, insert on agent_runs to postroom_tenant;
-- By column: the right to update a whole table is the right to lock it.
grant update (started_at, profile_version, model, status, stopped_by, reason, turns, cost_microcents, refused_calls, pending_actions,
  output_preview, worked, worked_until, finished_at) on agent_runs to postroom_tenant;

-- What was said in each turn of a run that ended by itself, without the mail that its tools showed.
create table agent_turns (
  org_id uuid not null,
  run_id uuid not null,
  turn integer not null check (turn between 1 and 1000),
  stop_reason text not null check (length(stop_reason) <= 100),
  said text not null default '' check (length(said) <= 2000),
  -- Name of each tool that was called, and whether and why it was refused.
  calls jsonb not null default '[]' check (jsonb_typeof(calls) = 'array' and octet_length(calls::text) <= 50000),
  cost_microcents postroom.whole_number not null default 0,
  primary key (org_id, run_id, turn),
  foreign key (org_id, run_id) references agent_runs (org_id, id) on delete cascade
);
call postroom.fence_table('agent_turns');
call postroom.erasure_rule('agent_turns');
grant select, insert, delete on agent_turns to postroom_ledger;
grant select, insert on agent_turns to postroom_tenant;
