-- Planning: projects, their people, places and times, run sheets with slots, who has which slot, and proposals (docs/explanation/planning.md).
-- Each row is of an org and of a project; a job of a project sees that project alone.

create table projects (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  name text not null check (length(name) between 1 and 200),
  -- By its clocks a slot counts in a day and in a week.
  zone text not null default 'UTC' check (length(zone) between 1 and 100),
  speed_kmh integer not null default 40 check (speed_kmh between 1 and 1000),
  created_at timestamptz not null default now(),
  constraint projects_of_org unique (org_id, id)
);
call postroom.fence_project_table('projects', 'id', 'select');
call postroom.erasure_rule('projects', refuses_new => true);
grant select, insert, update (name, zone, speed_kmh) on projects to postroom_ledger;
grant select on projects to postroom_tenant;

create table places (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  -- Minutes to other places by their ids; where nothing is said, the way over the ground counts.
  minutes_to jsonb not null default '{}' check (octet_length(minutes_to::text) <= 65536),
  constraint places_of_project unique (org_id, project_id, id),
  constraint places_have_both_coordinates check ((latitude is null) = (longitude is null)),
  foreign key (org_id, project_id) references projects (org_id, id)
);
call postroom.fence_project_table('places', 'project_id', 'select');
call postroom.erasure_rule('places');
grant select, insert, update (name, latitude, longitude, minutes_to) on places to postroom_ledger;
grant select on places to postroom_tenant;

create table collaborators (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  -- Who gets messages of assignments. The same user in two projects is one person, whose time is taken once.
  user_id uuid,
  name text not null check (length(name) between 1 and 200),
  home_id uuid,
  most_minutes_a_day integer check (most_minutes_a_day between 1 and 1440),
  most_minutes_a_week integer check (most_minutes_a_week between 1 and 10080),
  created_at timestamptz not null default now(),
  constraint collaborators_of_project unique (org_id, project_id, id),
  constraint collaborators_are_one_person unique (org_id, project_id, user_id),
  foreign key (org_id, project_id) references projects (org_id, id),
  foreign key (org_id, project_id, home_id) references places (org_id, project_id, id),
  foreign key (org_id, user_id) references users (org_id, id) on delete set null (user_id)
);
create index collaborators_user on collaborators (org_id, user_id) where user_id is not null;
create index collaborators_home on collaborators (org_id, project_id, home_id) where home_id is not null;
call postroom.fence_project_table('collaborators', 'project_id', 'select');
call postroom.erasure_rule('collaborators', person_keeps => $${"name": "'erased'", "user_id": "null"}$$, refuses_new => true);
grant select, insert, update (user_id, name, home_id, most_minutes_a_day, most_minutes_a_week) on collaborators to postroom_ledger;
grant select on collaborators to postroom_tenant;

create table collaborator_skills (
  org_id uuid not null,
  project_id uuid not null,
  collaborator_id uuid not null,
  skill text not null check (skill ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  primary key (org_id, project_id, collaborator_id, skill),
  foreign key (org_id, project_id, collaborator_id) references collaborators (org_id, project_id, id)
);
call postroom.fence_project_table('collaborator_skills', 'project_id', 'select');
call postroom.erasure_rule('collaborator_skills');
grant select, insert, delete on collaborator_skills to postroom_ledger;
grant select on collaborator_skills to postroom_tenant;

-- What a person says of a time, by hand or by an imported file.
create table availabilities (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  collaborator_id uuid not null,
  kind text not null check (kind in ('available', 'preferred', 'busy')),
  during tstzrange not null,
  -- 'hand', or what the imported file is called.
  source text not null default 'hand' check (length(source) between 1 and 200),
  -- The event's id in its source: the same file twice changes nothing.
  external_uid text check (length(external_uid) between 1 and 1000),
  constraint availabilities_during_is_bounded check (
    not isempty(during) and lower_inc(during) and not upper_inc(during)
    -- By the clocks of each zone a time is one of those that Python knows, too.
    and during <@ tstzrange('1600-01-01 00:00Z', '2401-01-01 00:00Z')),
  foreign key (org_id, project_id, collaborator_id) references collaborators (org_id, project_id, id)
);
create index availabilities_listed on availabilities (org_id, project_id, collaborator_id, lower(during), id);
create unique index availabilities_event on availabilities (org_id, project_id, collaborator_id, source, external_uid)
  where external_uid is not null;
call postroom.fence_project_table('availabilities');
call postroom.erasure_rule('availabilities',
  person_rows => 'collaborator_id in (select c.id from collaborators c where c.org_id = the.org and c.user_id = the.person)');
grant select, insert, delete, update (kind, during) on availabilities to postroom_ledger;
-- No delete: that right is the right to lock the whole table.
grant select, insert, update (kind, during) on availabilities to postroom_tenant;

create table run_sheets (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  -- Each change of the sheet, its slots or their people raises it.
  revision integer not null default 1 check (revision > 0),
  created_at timestamptz not null default now(),
  constraint run_sheets_of_project unique (org_id, project_id, id),
  foreign key (org_id, project_id) references projects (org_id, id)
);
call postroom.fence_project_table('run_sheets', 'project_id', 'select');
call postroom.erasure_rule('run_sheets');
grant select, insert, update (name, revision) on run_sheets to postroom_ledger;
grant select on run_sheets to postroom_tenant;

create table slots (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  run_sheet_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  during tstzrange not null,
  place_id uuid,
  skills text[] not null default '{}' check (cardinality(skills) <= 20),
  headcount integer not null default 1 check (headcount between 1 and 100),
  priority integer not null default 1 check (priority between 1 and 10),
  constraint slots_during_is_bounded check (
    not isempty(during) and lower_inc(during) and not upper_inc(during)
    -- By the clocks of each zone a time is one of those that Python knows, too.
    and during <@ tstzrange('1600-01-01 00:00Z', '2401-01-01 00:00Z')),
  constraint slots_of_project unique (org_id, project_id, id),
  foreign key (org_id, project_id, run_sheet_id) references run_sheets (org_id, project_id, id),
  foreign key (org_id, project_id, place_id) references places (org_id, project_id, id)
);
create index slots_listed on slots (org_id, project_id, run_sheet_id, lower(during), id);
create index slots_of_place on slots (org_id, project_id, place_id) where place_id is not null;
call postroom.fence_project_table('slots', 'project_id', 'select');
call postroom.erasure_rule('slots');
grant select, insert, delete, update (name, during, place_id, skills, headcount, priority) on slots to postroom_ledger;
grant select on slots to postroom_tenant;

-- Who has which slot: the only truth of it. No handler may write here.
create table assignments (
  org_id uuid not null,
  project_id uuid not null,
  slot_id uuid not null,
  collaborator_id uuid not null,
  is_pinned boolean not null default false,
  assigned_at timestamptz not null default now(),
  assigned_by text not null check (length(assigned_by) between 1 and 200),
  primary key (org_id, project_id, slot_id, collaborator_id),
  foreign key (org_id, project_id, slot_id) references slots (org_id, project_id, id) on delete cascade,
  foreign key (org_id, project_id, collaborator_id) references collaborators (org_id, project_id, id)
);
create index assignments_of_collaborator on assignments (org_id, project_id, collaborator_id, slot_id);
call postroom.fence_project_table('assignments', 'project_id', 'select');
call postroom.erasure_rule('assignments');
grant select, insert, delete, update (is_pinned, assigned_at, assigned_by) on assignments to postroom_ledger;
grant select on assignments to postroom_tenant;

-- Whole plans that a job suggests, and the plan that they were made for, as the hashes of its parts.
create table proposals (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  project_id uuid not null,
  job_id uuid not null,
  -- Null: of all run sheets of the project.
  run_sheet_id uuid,
  rank integer not null check (rank between 1 and 10),
  weights jsonb not null,
  plan_hash text not null check (plan_hash ~ '^[0-9a-f]{64}$'),
  plan_parts jsonb not null,
  points jsonb not null,
  total integer not null,
  most integer not null,
  is_proved boolean not null,
  choices jsonb not null,
  reasons jsonb not null,
  created_at timestamptz not null default now(),
  applied_at timestamptz,
  applied_by text check (length(applied_by) between 1 and 200),
  constraint proposals_of_job unique (job_id, rank),
  check ((applied_at is null) = (applied_by is null)),
  foreign key (org_id, project_id) references projects (org_id, id),
  foreign key (org_id, project_id, run_sheet_id) references run_sheets (org_id, project_id, id)
);
create index proposals_listed on proposals (org_id, project_id, created_at, id);
-- The oldest leave first.
create index proposals_age on proposals (created_at);
create index proposals_of_run_sheet on proposals (org_id, project_id, run_sheet_id) where run_sheet_id is not null;
call postroom.fence_project_table('proposals');
call postroom.erasure_rule('proposals');
grant select, delete, update (applied_at, applied_by) on proposals to postroom_ledger;
grant select, insert on proposals to postroom_tenant;
