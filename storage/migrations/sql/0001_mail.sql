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
call postroom.erasure_rule('threads');
grant select, insert, update, delete on threads to postroom_ledger;
grant select, insert, update (first_message_at, last_message_at) on threads to postroom_tenant;

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
call postroom.erasure_rule('messages');
grant select, insert, update, delete on messages to postroom_ledger;
grant select, insert, update (
  direction, received_at, size, labels, sender, subject, body, document, rfc_message_id, defects, automation_kind, automation_weight,
  automation_evidence, deleted_at
) on messages to postroom_tenant;

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
call postroom.erasure_rule('correspondents');
grant select, insert, update, delete on correspondents to postroom_ledger;
grant select, insert, update (heard_at, written_at) on correspondents to postroom_tenant;

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
call postroom.erasure_rule('expected_writes');
grant select, insert, update, delete on expected_writes to postroom_ledger;
grant select, insert, update (history_id, expires_at) on expected_writes to postroom_tenant;

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
call postroom.erasure_rule('draft_tokens');
grant select, insert, update, delete on draft_tokens to postroom_ledger;
grant select, insert on draft_tokens to postroom_tenant;

-- A thread that wants an answer, through its life (domain/mail/correspondence.py). One row per thread, and so at most one
-- draft of ours in it (docs: gmail.md#drafts).
create table emails (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  gmail_thread_id text not null,
  gmail_message_id text not null check (length(gmail_message_id) between 1 and 100),
  state text not null default 'pending'
    check (state in ('pending', 'drafted', 'rework_requested', 'sent', 'archived', 'skipped')),
  state_changed_at timestamptz not null default now(),
  classification text check (classification in (
    'needs_response', 'action_required', 'fyi', 'newsletter', 'notification', 'calendar', 'suspicious', 'needs_review')),
  decision_source text check (decision_source in ('deterministic', 'llm')),
  confidence double precision check (confidence between 0 and 1),
  needs_review boolean not null default false,
  draft_token text,
  draft_id text check (length(draft_id) between 1 and 100),
  draft_message_id text check (length(draft_message_id) between 1 and 100),
  draft_fingerprint text check (length(draft_fingerprint) between 1 and 200),
  drafted_at timestamptz,
  -- Since when a draft is in doubt, and a history id of the mailbox from before then. What was added to the mailbox since shows
  -- whether the draft was ever made, also when its person has thrown it away (docs: gmail.md#lost-drafts).
  draft_planned_at timestamptz,
  draft_history_id numeric(20) check (draft_history_id > 0),
  -- When its person ordered the draft that a record waits for, or has; null where a decision did.
  by_hand_at timestamptz,
  -- Whether a service ordered the draft that a record waits for by hand: no label withdraws it. Meaningless without by_hand_at.
  by_service boolean not null default false,
  rework_count smallint not null default 0 check (rework_count between 0 and 3),
  sent_message_id text check (length(sent_message_id) between 1 and 100),
  sent_at timestamptz,
  created_at timestamptz not null default now(),
  unique (org_id, account_id, id),
  unique (org_id, account_id, gmail_thread_id),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id),
  foreign key (org_id, account_id, draft_token) references draft_tokens (org_id, account_id, token),
  constraint decided_as_a_whole check (
    (classification is null) = (decision_source is null) and (classification is null) = (confidence is null)),
  constraint draft_as_a_whole check (
    (draft_id is null) = (draft_message_id is null) and (draft_id is null) = (draft_fingerprint is null)
    and (draft_id is null) = (drafted_at is null)),
  constraint drafted_has_draft check (state not in ('drafted', 'rework_requested') or draft_id is not null),
  constraint pending_has_no_draft check (state <> 'pending' or draft_id is null),
  constraint sent_as_a_whole check ((sent_message_id is null) = (sent_at is null)),
  constraint sent_has_message check (state <> 'sent' or sent_message_id is not null),
  constraint unsent_has_no_message check (state not in ('pending', 'drafted', 'rework_requested') or sent_message_id is null)
) with (fillfactor = 80);
create unique index emails_draft on emails (org_id, account_id, draft_id) where draft_id is not null;
create unique index emails_draft_message on emails (org_id, account_id, draft_message_id) where draft_message_id is not null;
-- Records that wait for a draft, or for a person to send one: without it each full sync reads all records of its account.
create index emails_open on emails (org_id, account_id, state, state_changed_at)
  where state in ('pending', 'drafted', 'rework_requested');
call postroom.fence_table('emails');
call postroom.erasure_rule('emails');
grant select, insert, update, delete on emails to postroom_ledger;
grant select, insert, update (
  gmail_message_id, state, state_changed_at, classification, decision_source, confidence, needs_review, draft_token, draft_id,
  draft_message_id, draft_fingerprint, drafted_at, draft_planned_at, draft_history_id, by_hand_at, by_service, rework_count,
  sent_message_id, sent_at
) on emails to postroom_tenant;

-- How a message was classified, and by whom.
create table decisions (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  gmail_message_id text not null,
  job_id uuid,
  source text not null check (source in ('deterministic', 'llm')),
  classification text not null check (classification in (
    'needs_response', 'action_required', 'fyi', 'newsletter', 'notification', 'calendar', 'suspicious', 'needs_review')),
  confidence double precision not null check (confidence between 0 and 1),
  rationale text not null check (length(rationale) <= 4000),
  needs_reply boolean not null default false,
  needs_review boolean not null default false,
  caution boolean not null default false,
  label_ids text[] not null default '{}' check (cardinality(label_ids) <= 100),
  rule_ids text[] not null default '{}' check (cardinality(rule_ids) <= 200),
  model text check (length(model) between 1 and 100),
  -- Which models and prompt gave no answer to use, where nobody decided; others may be asked anew. A message that these models
  -- refuse is not asked about again by each sync (docs: triage.md#undecided).
  undecided_by text check (length(undecided_by) between 1 and 300),
  at timestamptz not null default now(),
  unique (org_id, account_id, id),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id),
  constraint only_a_model_has_a_name check (source = 'llm' or model is null),
  constraint only_a_rule_is_named check (source = 'deterministic' or rule_ids = '{}'),
  constraint undecided_is_reviewed check (classification <> 'needs_review' or needs_review),
  constraint only_the_undecided_names_its_models
    check (undecided_by is null or (classification = 'needs_review' and source = 'llm'))
);
-- A job that runs again has decided once; without a job (a person, a test) every decision is a new one.
create unique index decisions_job on decisions (org_id, account_id, gmail_message_id, job_id) where job_id is not null;
create index decisions_message on decisions (org_id, account_id, gmail_message_id, at desc);
call postroom.fence_table('decisions');
call postroom.erasure_rule('decisions');
grant select, insert, delete on decisions to postroom_ledger;
grant select, insert on decisions to postroom_tenant;
