create domain postroom.account_status as text check (value in ('active', 'needs_reconsent', 'disconnected'));
create domain postroom.status_reason as text check (length(value) between 1 and 500);
-- Google's id of a user, or of a label.
create domain postroom.google_id as text check (length(value) between 1 and 255);
create domain postroom.short_list as text[] check (cardinality(value) <= 100);
-- Gmail's history ids are unsigned 64-bit numbers.
create domain postroom.history_id as numeric(20) check (value between 1 and 18446744073709551615);
-- Which models and prompt somebody was asked with.
create domain postroom.asked_models as text check (length(value) between 1 and 300);
create domain postroom.own_addresses as text[] check (cardinality(value) <= 200 and lower(value::text collate "pg_c_utf8") = value::text);
create domain postroom.account_settings as jsonb
  check (jsonb_typeof(value) = 'object' and postroom.carries_secret(value) is null)
  constraint switches_are_booleans check (
    coalesce(jsonb_typeof(value -> 'send_allowed'), 'boolean') = 'boolean'
    and coalesce(jsonb_typeof(value -> 'agent_enabled'), 'boolean') = 'boolean')
  constraint label_parent_is_a_name check (
    coalesce(jsonb_typeof(value -> 'label_parent'), 'string') = 'string'
    and length(coalesce(value ->> 'label_parent', 'x')) between 1 and 100);

-- Mailboxes and what may be done with them. Every foreign key of a tenant's table carries the org, so that no row of one
-- org can point at another's; unique keys begin with the org, so that a refusal reveals nothing about another's rows.
-- A row is the mailbox of a Google user in an org: it is closed when it is disconnected, and opened again when the same user connects it.
create table accounts (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  user_id uuid not null,
  email postroom.email not null,
  -- Google's id of the user who consented; it stays when an address changes hands. Null: consent came by the command line.
  google_subject postroom.google_id,
  status postroom.account_status not null,
  status_reason postroom.status_reason,
  status_changed_at timestamptz not null default now(),
  -- When a closed row was opened again: jobs that were last asked for before are of an earlier connection.
  reopened_at timestamptz,
  -- Sealed by storage/orgs/secrets/sealing.py; the seal names this row, so a token copied to another row does not open.
  sealed_access_token postroom.sealed,
  sealed_refresh_token postroom.sealed,
  access_expires_at timestamptz,
  scopes postroom.short_list not null default '{}',
  token_version postroom.whole_number not null default 0,
  refresh_owner uuid,
  refresh_until timestamptz,
  -- One job at a time makes a mailbox's labels (docs: gmail.md#labels): its claim's token, and until when the others wait for it.
  labels_owner uuid,
  labels_until timestamptz,
  history_id postroom.history_id,
  full_synced_at timestamptz,
  -- Which models and prompt the latest full sync named for messages that others had left undecided: those are asked about at once when it
  -- changes, and at growing ages as long as it does not.
  full_sync_asked postroom.asked_models,
  watch_expires_at timestamptz,
  watch_renewed_at timestamptz,
  -- Gmail's limit on sent mail concerns nothing else: the account is read on.
  sending_paused_until timestamptz,
  own_addresses postroom.own_addresses not null default '{}',
  settings postroom.account_settings not null default '{}',
  created_at timestamptz not null default now(),
  unique (org_id, id),
  foreign key (org_id, user_id) references users (org_id, id),
  constraint active_has_refresh_token check (status <> 'active' or sealed_refresh_token is not null),
  constraint disconnected_keeps_no_token check (status <> 'disconnected' or (sealed_access_token is null and sealed_refresh_token is null)),
  constraint inactive_has_reason check (status <> 'needs_reconsent' or status_reason is not null),
  constraint access_token_expires check ((sealed_access_token is null) = (access_expires_at is null)),
  constraint leases_have_owners check ((refresh_owner is null) = (refresh_until is null) and (labels_owner is null) = (labels_until is null)),
  constraint watch_has_both_times check ((watch_expires_at is null) = (watch_renewed_at is null))
) with (fillfactor = 80);
-- An address has one open row in an org.
create unique index accounts_open on accounts (org_id, email) where status <> 'disconnected';
create index accounts_email on accounts (email);
create index accounts_user on accounts (org_id, user_id);
call postroom.fence_table('accounts');
call postroom.erasure_rule('accounts', refuses_new => true);
grant select, insert, update, delete on accounts to postroom_ledger;
-- By column, here and in every table of a tenant: the right to update a whole table would be the right to lock it against all other orgs.
-- Keys, orgs and times of creation are written once (docs/explanation/tenancy.md).
grant select, update (
  email, status, status_reason, status_changed_at, sealed_access_token, sealed_refresh_token, access_expires_at, scopes, token_version,
  refresh_owner, refresh_until, labels_owner, labels_until, history_id, full_synced_at, full_sync_asked, watch_expires_at, watch_renewed_at,
  sending_paused_until, own_addresses, settings
) on accounts to postroom_tenant;

-- A label's id is stable, its name is not. A label that Gmail no longer lists keeps its row, so that what names it can
-- be translated when somebody makes it again. Description and use by the classifier belong to the user.
create table labels (
  org_id uuid not null,
  account_id uuid not null,
  gmail_label_id text not null check (length(gmail_label_id) between 1 and 255),
  name text not null check (length(name) between 1 and 500),
  kind text not null check (kind in ('system', 'user')),
  role text check (role in ('needs_response', 'outbox', 'rework', 'action_required', 'done', 'snoozed')),
  description text not null default '' check (length(description) <= 2000),
  for_classifier boolean not null default false,
  deleted_at timestamptz,
  first_seen_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  primary key (org_id, account_id, gmail_label_id),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint roles_are_for_user_labels check (role is null or kind = 'user')
);
create unique index labels_role on labels (org_id, account_id, role) where role is not null and deleted_at is null;
call postroom.fence_table('labels');
call postroom.erasure_rule('labels');
grant select, insert, update, delete on labels to postroom_ledger;
grant select, insert, update (name, kind, role, description, for_classifier, deleted_at, seen_at) on labels to postroom_tenant;

-- How an owner writes, as a model has described it from their sent mail (docs/explanation/mailbox-sync.md#the-owners-voice).
create table voices (
  org_id uuid not null,
  account_id uuid not null,
  voice jsonb not null check (jsonb_typeof(voice) = 'object' and length(voice::text) <= 4000 and postroom.carries_secret(voice) is null),
  sampled integer not null check (sampled between 1 and 1000),
  learned_at timestamptz not null default now(),
  primary key (org_id, account_id),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
call postroom.fence_table('voices');
call postroom.erasure_rule('voices');
grant select, insert, update, delete on voices to postroom_ledger;
grant select, insert, update (voice, sampled, learned_at) on voices to postroom_tenant;

-- Pushes that were acknowledged and thrown away, by reason and day: no org is known, so only the fleet sees them.
create table refused_pushes (
  reason text not null check (reason ~ '^[a-z_]{1,60}$'),
  day date not null,
  count bigint not null check (count > 0),
  first_at timestamptz not null,
  last_at timestamptz not null check (last_at >= first_at),
  primary key (reason, day)
);
call postroom.erasure_rule('refused_pushes', org_rows => null);
grant select, insert, update, delete on refused_pushes to postroom_ledger;
