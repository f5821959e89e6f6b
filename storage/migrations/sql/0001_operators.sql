-- People who sign in to the console (domain/orgs/access/operators.py). They are of the fleet, not of an org: an org's erasure finds nothing
-- here, and whoever leaves is removed by `operators remove`.
create table operators (
  id uuid primary key default uuidv7(),
  email postroom.email not null unique,
  role text not null check (role in ('viewer', 'support', 'operator', 'admin')),
  -- Null: all orgs.
  org_ids uuid[] check (cardinality(org_ids) between 1 and 1000 and array_position(org_ids, null) is null),
  -- argon2id, with its parameters and salt; null before the first link is used, and for whoever signs in elsewhere.
  password_hash text check (password_hash ~ '^\$argon2id\$' and length(password_hash) <= 300),
  -- The account at the OpenID Connect provider by which the operator came in first: SHA-256 of issuer and subject.
  account bytea check (octet_length(account) = 32),
  link_digest bytea unique check (octet_length(link_digest) = 32),
  link_expires_at timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 200),
  signed_in_at timestamptz,
  deactivated_at timestamptz,
  constraint link_expires check ((link_digest is null) = (link_expires_at is null)),
  constraint nobody_signs_in check (deactivated_at is null or (password_hash is null and account is null and link_digest is null))
);
call postroom.erasure_rule('operators', org_rows => null);
grant select, insert, delete on operators to postroom_ledger;
grant update (role, org_ids, password_hash, account, link_digest, link_expires_at, signed_in_at, deactivated_at) on operators to postroom_ledger;

-- Their browsers. Of the cookie only a digest is kept; a sign-in and a password that is given once more make a new one.
create table operator_sessions (
  id uuid primary key default uuidv7(),
  operator_id uuid not null references operators (id) on delete cascade,
  digest bytea not null unique check (octet_length(digest) = 32),
  began_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- When the password was last given, or the provider asked for a proof.
  proved_at timestamptz not null default now(),
  ends_at timestamptz not null check (ends_at > began_at)
);
create index operator_sessions_of on operator_sessions (operator_id, id);
create index operator_sessions_ends on operator_sessions (ends_at);
call postroom.erasure_rule('operator_sessions', org_rows => null);
grant select, insert, delete on operator_sessions to postroom_ledger;
grant update (digest, seen_at, proved_at) on operator_sessions to postroom_ledger;
