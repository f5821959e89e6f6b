-- Artifacts: files of an org whose bytes lie in the store (docs/explanation/artifacts.md). A row is written when all bytes lie there, and
-- what it says of them never changes.
create table artifacts (
  id uuid primary key,
  org_id uuid not null references orgs (id),
  project_id uuid,
  kind text not null check (kind ~ '^[a-z][a-z0-9_]{0,39}$'),
  name text not null check (length(name) between 1 and 200),
  media_type text not null check (length(media_type) between 3 and 166),
  size bigint not null check (size >= 0),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  state text not null default 'ready' check (state in ('ready', 'deleted')),
  -- The job that made it; no reference, for jobs are deleted sooner.
  job_id uuid,
  -- Links of an earlier number are revoked.
  link_number integer not null default 0 check (link_number >= 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  deleted_at timestamptz,
  -- When its bytes were removed from the store.
  removed_at timestamptz,
  -- When the store last refused to remove them.
  refused_at timestamptz,
  foreign key (org_id, project_id) references projects (org_id, id),
  constraint deleted_has_its_time check ((state = 'deleted') = (deleted_at is not null)),
  constraint only_deleted_bytes_are_removed check (removed_at is null or state = 'deleted')
);
create index artifacts_of_org on artifacts (org_id, created_at desc, id desc);
create index artifacts_of_project on artifacts (org_id, project_id) where project_id is not null;
create index artifacts_expiring on artifacts (expires_at) where state = 'ready';
create index artifacts_to_remove on artifacts (coalesce(refused_at, deleted_at)) where state = 'deleted' and removed_at is null;
create index artifacts_removed on artifacts (removed_at) where removed_at is not null;
call postroom.fence_project_table('artifacts');
-- The row stays until the bytes have been gone for a while. A person is in the files of their jobs, and in those that are made of the projects
-- they are planned in, with a login or by name alone; what somebody has uploaded is not read. Who exports during the erasure may have read the
-- name before it went.
call postroom.erasure_rule('artifacts',
  org_keeps => $${"state": "'deleted'", "deleted_at": "coalesce(deleted_at, now())", "name": "'erased'",
    "media_type": "'application/octet-stream'", "project_id": "null"}$$,
  person_rows => $$exists (select from jobs j where j.id = job_id and (j.payload::text ~* the.ids or j.actor_id ~* the.ids))
    or (kind <> 'upload' and exists (
      select from collaborators c
      where c.org_id = the.org and c.project_id = t.project_id and (c.user_id = the.person
        or postroom.without_marks(c.name, the.patterns, the.instead) <> c.name
        or (c.name like '%erased%' and t.created_at >= (select e.begun_at from erasures e where e.org_id = the.org and e.person_id = the.person)))))$$,
  person_keeps => $${"state": "'deleted'", "deleted_at": "coalesce(deleted_at, now())", "name": "'erased'"}$$,
  refuses_new => true);
grant select, insert, update, delete on artifacts to postroom_ledger;
-- A job's settlement adds its own; who deletes or revokes is people, by the ledger's role.
grant select, insert on artifacts to postroom_tenant;

-- Artifacts as all who ask see them: the time of one is over from the moment, and not from the next tick of the housekeeping.
create view artifact_lines with (security_invoker = true) as
select id as artifact_id, org_id, project_id, kind, name, media_type, size, sha256,
  case when expires_at <= now() then 'deleted' else state end as state, job_id, link_number, created_at, expires_at,
  coalesce(deleted_at, case when expires_at <= now() then expires_at end) as deleted_at
from artifacts;
grant select on artifact_lines to postroom_ledger, postroom_tenant;
