-- Secrets of an org: keys and passwords of the services that it brings along. Sealed by the process; the database holds no key
-- (docs/explanation/tenancy.md#secrets-of-an-org).
create table org_secrets (
  -- Jobs of the system org may look across orgs, so it has none.
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  name text not null check (name ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  sealed bytea not null check (octet_length(sealed) between 1 and 20000),
  -- Which sealing key opens it; not secret.
  key_id bytea not null check (octet_length(key_id) = 8),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, name)
);
call postroom.fence_table('org_secrets', 'org_id', 'select');
grant select, insert, delete on org_secrets to postroom_ledger;
grant update (sealed, key_id, updated_at) on org_secrets to postroom_ledger;
