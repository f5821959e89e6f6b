-- Keys that let a service in over HTTP, each for one org and role. Of the key itself only a digest is kept; the prefix finds it.
create table api_keys (
  id uuid primary key default uuidv7(),
  -- The system org's jobs may look across orgs (domain/orgs/access/api_keys.py).
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  name text not null check (length(name) between 1 and 200),
  role text not null check (role in ('reader', 'writer', 'operator')),
  prefix text not null unique check (prefix ~ '^[0-9a-f]{12}$'),
  digest bytea not null check (length(digest) = 32),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 200),
  expires_at timestamptz check (expires_at > created_at),
  revoked_at timestamptz,
  revoked_by text check (length(revoked_by) between 1 and 200),
  last_used_at timestamptz,
  constraint revoked_by_somebody check ((revoked_at is null) = (revoked_by is null))
);
create index api_keys_org on api_keys (org_id);
call postroom.fence_table('api_keys', 'org_id', 'select');
call postroom.erasure_rule('api_keys', refuses_new => true);
grant select, insert on api_keys to postroom_ledger;
grant update (revoked_at, revoked_by, last_used_at) on api_keys to postroom_ledger;
-- For an operator of the org, who reads as its tenant; not the digest.
grant select (
  id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
) on api_keys to postroom_tenant;

-- Requests with an idempotency key: what each asked for, as a digest, and what it made (docs/howto/hand-over-work.md).
create table api_requests (
  org_id uuid not null references orgs (id),
  key text not null check (length(key) between 1 and 400),
  fingerprint bytea not null check (length(fingerprint) = 32),
  -- Null only within the transaction that makes something.
  made uuid[] check (cardinality(made) > 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (org_id, key)
);
create index api_requests_expiry on api_requests (expires_at);
call postroom.fence_table('api_requests');
call postroom.erasure_rule('api_requests');
-- The gateway enqueues as the tenant (promise P6), and remembers the request in the same transaction.
grant select, insert (org_id, key, fingerprint, expires_at) on api_requests to postroom_tenant;
grant update (fingerprint, made, created_at, expires_at) on api_requests to postroom_tenant;
-- Rules, directions and retries are written as the ledger, beside the audit log's entry.
grant select, delete, insert (org_id, key, fingerprint, expires_at) on api_requests to postroom_ledger;
grant update (fingerprint, made, created_at, expires_at) on api_requests to postroom_ledger;

-- Who was erased, or is being erased: the fact, and until the end by what a person is found, so that whoever repeats an erasure that was cut
-- off goes on with the same (docs: erase-a-person.md).
create table erasures (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  subject text not null check (subject in ('user', 'org')),
  person_id uuid,
  -- [{"kind": "address", "text": "ada@example.org"}, ...]
  marks jsonb,
  accounts uuid[],
  addresses text[],
  -- A pattern of the ids.
  ids text,
  -- Of the person's address and id, under the org's key: so that who asks again learns that it is done.
  hashes bytea[] not null default '{}',
  reason text not null check (length(reason) between 1 and 1000),
  begun_by text not null check (length(begun_by) between 1 and 200),
  begun_at timestamptz not null default now(),
  finished_at timestamptz,
  rows bigint not null default 0,
  files integer not null default 0,
  constraint finished_knows_nobody check (finished_at is null or num_nonnulls(person_id, marks, accounts, addresses, ids) = 0),
  constraint under_way_knows_whom check (finished_at is not null or num_nonnulls(marks, accounts, addresses, ids) = 4)
);
create unique index erasures_under_way on erasures (org_id, person_id) nulls not distinct where finished_at is null;
-- No grant for the tenant: a handler has nothing to look for here.
call postroom.fence_table('erasures', 'org_id', 'select');
-- The one that is under way keeps by what it finds the person; those of people end with the org.
call postroom.erasure_rule('erasures',
  org_rows => $$org_id = the.org and subject = 'user' and (finished_at is not null or person_id is distinct from the.person)$$,
  org_keeps => $${"reason": "'erased'", "finished_at": "coalesce(finished_at, now())", "person_id": "null", "marks": "null",
    "accounts": "null", "addresses": "null", "ids": "null"}$$);
grant select, insert on erasures to postroom_ledger;
grant update (person_id, marks, accounts, addresses, ids, finished_at, rows, files) on erasures to postroom_ledger;
