-- What the mailboxes hold, as far as the fleet has seen it.
create table threads (
  org_id uuid not null,
  account_id uuid not null,
  gmail_thread_id text not null check (length(gmail_thread_id) between 1 and 100),
  first_message_at timestamptz not null,
  last_message_at timestamptz not null check (last_message_at >= first_message_at),
  primary key (org_id, account_id, gmail_thread_id),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
call postroom.fence_table('threads');
grant select, insert, update, delete on threads to postroom_ledger;
grant select, insert, update on threads to postroom_tenant;

create table messages (
  org_id uuid not null,
  account_id uuid not null,
  gmail_message_id text not null check (length(gmail_message_id) between 1 and 100),
  gmail_thread_id text not null,
  direction text not null check (direction in ('incoming', 'outgoing')),
  received_at timestamptz not null,
  size bigint not null check (size >= 0),
  labels text[] not null check (cardinality(labels) <= 1000),
  sender text check (length(sender) <= 320),
  subject text not null check (length(subject) <= 1000),
  body text not null check (length(body) <= 200000),
  -- The rest of the parsed message, as storage/mail/messages.py writes it: addresses, headers, attachments, …
  document jsonb not null check (jsonb_typeof(document) = 'object' and octet_length(document::text) <= 8000000),
  rfc_message_id text check (length(rfc_message_id) <= 2000),
  defects text[] not null default '{}' check (cardinality(defects) <= 100),
  automation_kind text check (automation_kind in (
    'bounce', 'auto_reply', 'self', 'calendar', 'list', 'bulk', 'automated', 'human')),
  automation_weight text check (automation_weight in ('certain', 'strong', 'medium', 'class', 'none')),
  automation_evidence text[] check (cardinality(automation_evidence) <= 200 and length(automation_evidence::text) <= 100000),
  first_seen_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, account_id, gmail_message_id),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id),
  constraint automation_as_a_whole check (
    (automation_kind is null) = (automation_weight is null) and (automation_kind is null) = (automation_evidence is null))
);
create index messages_thread on messages (org_id, account_id, gmail_thread_id, received_at);
create index messages_received on messages (org_id, account_id, received_at);
call postroom.fence_table('messages');
grant select, insert, update, delete on messages to postroom_ledger;
grant select, insert, update on messages to postroom_tenant;

-- Whom an account has heard from and written to, and since when: whoever it has written to is no stranger.
create table correspondents (
  org_id uuid not null,
  account_id uuid not null,
  address text not null check (length(address) between 1 and 320),
  heard_at timestamptz,
  written_at timestamptz,
  primary key (org_id, account_id, address),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint known_for_a_reason check (heard_at is not null or written_at is not null)
);
call postroom.fence_table('correspondents');
grant select, insert, update, delete on correspondents to postroom_ledger;
grant select, insert, update on correspondents to postroom_tenant;

-- Our own writes on their way back as history: what is written here before the call is no news when it comes.
create table expected_writes (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  account_id uuid not null,
  change text not null check (change in ('message_added', 'message_deleted', 'labels_added', 'labels_removed')),
  gmail_thread_id text check (length(gmail_thread_id) between 1 and 100),
  gmail_message_id text check (length(gmail_message_id) between 1 and 100),
  gmail_label_id text check (length(gmail_label_id) between 1 and 255),
  -- The history record that answered it; the same record may come again, another one is somebody else's doing.
  history_id numeric(20) check (history_id > 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint expects_one_place check ((gmail_thread_id is null) <> (gmail_message_id is null)),
  constraint label_changes_name_a_label check ((change in ('labels_added', 'labels_removed')) = (gmail_label_id is not null)),
  constraint only_a_message_is_answered_once check (history_id is null or gmail_message_id is not null),
  constraint expires_later check (expires_at > created_at)
);
create index expected_writes_account on expected_writes (org_id, account_id, expires_at);
create index expected_writes_expiry on expected_writes (expires_at);
call postroom.fence_table('expected_writes');
grant select, insert, update, delete on expected_writes to postroom_ledger;
grant select, insert, update on expected_writes to postroom_tenant;

-- Every token that a draft of ours was made with, for as long as such a draft may come back: the thread's row in
-- emails keeps the latest only. Written before the draft is made, so that a draft whose record was lost is found again.
create table draft_tokens (
  org_id uuid not null,
  account_id uuid not null,
  token text not null check (token ~ '^[A-Za-z0-9_-]{8,64}$'),
  gmail_thread_id text not null,
  created_at timestamptz not null default now(),
  primary key (org_id, account_id, token),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id)
);
call postroom.fence_table('draft_tokens');
grant select, insert, update, delete on draft_tokens to postroom_ledger;
grant select, insert on draft_tokens to postroom_tenant;
