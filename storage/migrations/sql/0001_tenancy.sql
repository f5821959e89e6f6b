-- The org of a tenant's transaction is a setting, and settings can be set by any SQL. So it carries a seal that only
-- the engine can make: a keyed hash with a secret that the tenant role cannot read.
create table tenant_seal (
  only_row boolean primary key default true check (only_row),
  secret text not null
);
call postroom.erasure_rule('tenant_seal', org_rows => null);
insert into tenant_seal (secret) values (gen_random_uuid()::text || gen_random_uuid()::text);
grant select on tenant_seal to postroom_ledger;

-- Orgs and the people in them. Fleet-wide housekeeping belongs to the system org. An org's weight is its share of a queue
-- that several orgs have filled: of two orgs with weights 1 and 3, the second gets three jobs for each of the first's.
create table orgs (
  id uuid primary key default uuidv7(),
  name text not null check (length(name) between 1 and 200),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  weight smallint not null default 1 check (weight between 1 and 100),
  created_at timestamptz not null default now(),
  -- Nothing about it comes in any more: it is being erased, or was.
  erasing_since timestamptz,
  -- Nothing is enqueued for it: it is on its way to another cell, or from one (docs/explanation/cells.md).
  closed_since timestamptz
);
create index orgs_erased on orgs (id) where erasing_since is not null;
call postroom.fence_table('orgs', 'id', 'select');
call postroom.erasure_rule('orgs', org_rows => 'id = the.org', org_keeps => $${"name": "'erased'", "settings": "'{}'", "weight": "1"}$$);
grant select, insert, update on orgs to postroom_ledger;
grant select on orgs to postroom_tenant;
insert into orgs (id, name) values ('00000000-0000-7000-8000-000000000000', 'system');

-- As it is compared.
create domain postroom.email as text check (value = lower(value collate "pg_c_utf8") and position('@' in value) > 1 and length(value) <= 320);
create table users (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  email postroom.email not null,
  role text not null default 'member' check (role in ('owner', 'admin', 'approver', 'member')),
  discord_user_id text check (discord_user_id ~ '^[1-9][0-9]{0,19}$'),
  zone text not null default 'UTC' check (length(zone) between 1 and 100),
  created_at timestamptz not null default now(),
  erasing_since timestamptz,
  unique (org_id, email),
  constraint users_of_org unique (org_id, id)
);
-- One person of an org stands behind a Discord id; a person may belong to several orgs.
create unique index users_discord on users (org_id, discord_user_id) where discord_user_id is not null;
-- Who gets messages of what concerns the org.
create index users_of_role on users (org_id, id) where role <> 'member';
call postroom.fence_table('users');
call postroom.erasure_rule('users', person_rows => 'id = the.person', refuses_new => true);
grant select, insert, update, delete on users to postroom_ledger;
grant select on users to postroom_tenant;
