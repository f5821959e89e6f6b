-- Consent by browser (docs/explanation/google-oauth.md#connecting-by-browser): one row per link that was made.
-- Of the link, the state and the browser's cookie only digests are kept; the code verifier is sealed by the process.
create table consent_requests (
  id uuid primary key default uuidv7(),
  -- Jobs of the system org may look across orgs, so it has no mailbox.
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  email postroom.email not null,
  owner postroom.email not null,
  -- Whether the right to delete mail for good is asked for, too.
  deletes boolean not null,
  actor_type text not null check (actor_type in ('user', 'system', 'api_key')),
  actor_id text not null check (length(actor_id) between 1 and 200),
  created_at timestamptz not null default now(),
  link_digest bytea not null unique check (octet_length(link_digest) = 32),
  link_expires_at timestamptz not null,
  -- asked: a link was made; sent: the browser was sent to Google; exchanging: a code has come back and is being exchanged.
  -- A link that nobody used ends as refused, without a state.
  state text not null default 'asked' check (state in ('asked', 'sent', 'exchanging', 'connected', 'refused')),
  state_digest bytea unique check (octet_length(state_digest) = 32),
  browser_digest bytea check (octet_length(browser_digest) = 32),
  sealed_verifier bytea check (octet_length(sealed_verifier) between 1 and 1000),
  answer_by timestamptz,
  answered_at timestamptz,
  refusal text check (length(refusal) between 1 and 60),
  detail text check (length(detail) <= 700),
  account_id uuid,
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint sent_has_state check (
    (state_digest is null) = (browser_digest is null) and (state_digest is null) = (answer_by is null)
    and (state = 'refused' or (state = 'asked') = (state_digest is null))),
  constraint verifier_goes_with_the_code check ((sealed_verifier is not null) = (state = 'sent')),
  constraint connected_names_account check ((account_id is not null) = (state = 'connected')),
  constraint refused_says_why check ((refusal is not null) = (state = 'refused'))
) with (fillfactor = 80);
create index consent_requests_old on consent_requests (link_expires_at);
-- No grant for the tenant: a handler has nothing to look for here.
call postroom.fence_table('consent_requests', 'org_id', 'select');
call postroom.erasure_rule('consent_requests',
  person_rows => 'owner = any (the.addresses) or email = any (the.addresses)',
  refuses_new => true);
grant select, insert, delete on consent_requests to postroom_ledger;
grant update (
  state, state_digest, browser_digest, sealed_verifier, answer_by, answered_at, refusal, detail, account_id
) on consent_requests to postroom_ledger;
