create domain postroom.sealed as bytea check (octet_length(value) between 1 and 20000);

-- Secrets of an org: keys and passwords of the services that it brings along. Sealed by the process; the database holds no key
-- (docs/explanation/tenancy.md#secrets-of-an-org).
create table org_secrets (
  -- Jobs of the system org may look across orgs, so it has none.
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  name text not null check (name ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  sealed postroom.sealed not null,
  -- Which sealing key opens it; not secret.
  key_id bytea not null check (octet_length(key_id) = 8),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, name)
);
call postroom.fence_table('org_secrets', 'org_id', 'select');
call postroom.erasure_rule('org_secrets', refuses_new => true);
grant select, insert, delete on org_secrets to postroom_ledger;
grant update (sealed, key_id, updated_at) on org_secrets to postroom_ledger;

-- Which credentials an org has at a provider where each org has its own, and whether the provider refuses them. They are lost once: what
-- notices it first tells the owner. New ones have another set_at, so that nobody takes a refusal of the old ones for theirs.
create table org_credentials (
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  provider text not null check (provider ~ '^[a-z][a-z0-9_]{0,62}$'),
  -- Null: the org has given none.
  set_at timestamptz,
  lost_at timestamptz,
  lost_code text check (length(lost_code) between 1 and 200),
  primary key (org_id, provider),
  constraint lost_as_a_whole check (num_nonnulls(lost_at, lost_code) in (0, 2))
);
call postroom.fence_table('org_credentials');
call postroom.erasure_rule('org_credentials');
grant select, insert, update on org_credentials to postroom_ledger;
grant select, insert on org_credentials to postroom_tenant;
grant update (lost_at, lost_code) on org_credentials to postroom_tenant;
