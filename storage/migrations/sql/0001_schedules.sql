-- Which jobs an org wants by cron. The relay enqueues what is due (docs/howto/run-a-job-by-cron.md).
create table schedules (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  name text not null check (length(name) between 1 and 100),
  -- Whose schedule it is: the actor of its jobs. Whoever removes a person stops their schedules in the same statement.
  owner_id uuid,
  job_type postroom.job_type not null,
  payload postroom.payload not null,
  payload_version postroom.payload_version not null,
  cron text not null check (length(cron) between 9 and 200),
  zone text not null check (length(zone) between 1 and 100),
  missed text not null check (missed in ('skip', 'run_once', 'run_all')),
  next_run_at postroom.run_at not null,
  last_run_at timestamptz,
  enabled boolean not null default true,
  -- Why it does not run though nobody paused it.
  stopped text check (length(stopped) between 1 and 1000),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 200),
  foreign key (org_id, owner_id) references users (org_id, id),
  constraint one_name_per_org unique (org_id, name),
  constraint stopped_does_not_run check (stopped is null or not enabled)
);
create index schedules_due on schedules (next_run_at, id) where enabled;
create index schedules_of_user on schedules (org_id, owner_id) where owner_id is not null;
call postroom.fence_table('schedules', 'org_id', 'select');
call postroom.erasure_rule('schedules', person_rows => 'owner_id = the.person or payload::text ~* the.ids', refuses_new => true);
grant select, insert, delete on schedules to postroom_ledger;
grant update (owner_id, next_run_at, last_run_at, enabled, stopped, payload) on schedules to postroom_ledger;
grant select on schedules to postroom_tenant;

-- When beat last ticked for each periodic job, whether or not the tick made a job. Jobs and guards cannot say so: retention deletes
-- them, and a second beat that ticks in the same window makes neither. Without a row no beat has run here.
create table beat_ticks (
  job_type text primary key,
  ticked_at timestamptz not null
);
call postroom.erasure_rule('beat_ticks', org_rows => null);
grant select, insert on beat_ticks to postroom_ledger;
grant update (ticked_at) on beat_ticks to postroom_ledger;
