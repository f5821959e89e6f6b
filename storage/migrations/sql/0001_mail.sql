-- As in jobs, hot tables have domains: what a message keeps is bounded where it is stored, and a change of its labels, or of anything about
-- it, reads none of it. Of a message, a thread or a draft:
create domain postroom.gmail_id as text check (length(value) between 1 and 100);
create domain postroom.message_labels as text[] check (cardinality(value) <= 1000);
create domain postroom.sender as text check (length(value) <= 320);
create domain postroom.address as text check (length(value) between 1 and 320);
create domain postroom.subject as text check (length(value) <= 1000);
create domain postroom.body as text check (length(value) <= 200000);
create domain postroom.message_document as jsonb check (jsonb_typeof(value) = 'object' and octet_length(value::text) <= 8000000);
create domain postroom.rfc_message_id as text check (length(value) <= 2000);
create domain postroom.direction as text check (value in ('incoming', 'outgoing'));
create domain postroom.automation_kind as text check (value in ('bounce', 'auto_reply', 'self', 'calendar', 'list', 'bulk', 'automated', 'human'));
create domain postroom.automation_weight as text check (value in ('certain', 'strong', 'medium', 'class', 'none'));
create domain postroom.automation_evidence as text[] check (cardinality(value) <= 200 and length(value::text) <= 100000);
create domain postroom.classification as text check (value in (
  'needs_response', 'action_required', 'fyi', 'newsletter', 'notification', 'calendar', 'suspicious', 'needs_review'));
create domain postroom.confidence as double precision check (value between 0 and 1);
create domain postroom.decision_source as text check (value in ('deterministic', 'llm'));
create domain postroom.email_state as text check (value in ('pending', 'drafted', 'rework_requested', 'sent', 'archived', 'skipped'));
create domain postroom.draft_token as text check (value ~ '^[A-Za-z0-9_-]{8,64}$');
create domain postroom.rework_count as smallint constraint emails_rework_count_check check (value between 0 and 3);
create domain postroom.mailbox_change as text check (value in ('message_added', 'message_deleted', 'labels_added', 'labels_removed'));

-- What the mailboxes hold, as far as the fleet has seen it.
create table threads (
  org_id uuid not null,
  account_id uuid not null,
  gmail_thread_id postroom.gmail_id not null,
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
  gmail_message_id postroom.gmail_id not null,
  gmail_thread_id postroom.gmail_id not null,
  direction postroom.direction not null,
  received_at timestamptz not null,
  size postroom.whole_number not null,
  labels postroom.message_labels not null,
  sender postroom.sender,
  subject postroom.subject not null,
  body postroom.body not null,
  -- The rest of the parsed message, as storage/mail/messages.py writes it: addresses, headers, attachments, …
  document postroom.message_document not null,
  rfc_message_id postroom.rfc_message_id,
  defects postroom.short_list not null default '{}',
  automation_kind postroom.automation_kind,
  automation_weight postroom.automation_weight,
  automation_evidence postroom.automation_evidence,
  first_seen_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (org_id, account_id, gmail_message_id),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id),
  constraint automation_as_a_whole check (num_nonnulls(automation_kind, automation_weight, automation_evidence) in (0, 3))
);
create index messages_thread on messages (org_id, account_id, gmail_thread_id, received_at);
-- For who searches by an id without knowing the mailbox (storage/search.sql). A hash, for a Message-ID may be longer than a page's entry.
create index messages_rfc_id on messages using hash (rfc_message_id);
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
  address postroom.address not null,
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
  change postroom.mailbox_change not null,
  gmail_thread_id postroom.gmail_id,
  gmail_message_id postroom.gmail_id,
  gmail_label_id postroom.google_id,
  -- The history record that answered it; the same record may come again, another one is somebody else's doing.
  history_id postroom.history_id,
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
  token postroom.draft_token not null,
  gmail_thread_id postroom.gmail_id not null,
  created_at timestamptz not null default now(),
  primary key (org_id, account_id, token),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id)
);
-- For the deletion of its thread.
create index draft_tokens_thread on draft_tokens (gmail_thread_id, account_id);
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
  gmail_thread_id postroom.gmail_id not null,
  gmail_message_id postroom.gmail_id not null,
  state postroom.email_state not null default 'pending',
  state_changed_at timestamptz not null default now(),
  classification postroom.classification,
  decision_source postroom.decision_source,
  confidence postroom.confidence,
  needs_review boolean not null default false,
  draft_token text,
  draft_id postroom.gmail_id,
  draft_message_id postroom.gmail_id,
  draft_fingerprint postroom.short_text,
  drafted_at timestamptz,
  -- Since when a draft is in doubt, and a history id of the mailbox from before then. What was added to the mailbox since shows
  -- whether the draft was ever made, also when its person has thrown it away (docs: gmail.md#lost-drafts).
  draft_planned_at timestamptz,
  draft_history_id postroom.history_id,
  -- When its person ordered the draft that a record waits for, or has; null where a decision did.
  by_hand_at timestamptz,
  -- Whether a service ordered the draft that a record waits for by hand: no label withdraws it. Meaningless without by_hand_at.
  by_service boolean not null default false,
  rework_count postroom.rework_count not null default 0,
  sent_message_id postroom.gmail_id,
  sent_at timestamptz,
  created_at timestamptz not null default now(),
  unique (org_id, account_id, id),
  unique (org_id, account_id, gmail_thread_id),
  foreign key (org_id, account_id, gmail_thread_id) references threads (org_id, account_id, gmail_thread_id),
  foreign key (org_id, account_id, draft_token) references draft_tokens (org_id, account_id, token),
  constraint decided_as_a_whole check (num_nonnulls(classification, decision_source, confidence) in (0, 3)),
  constraint draft_as_a_whole check (num_nonnulls(draft_id, draft_message_id, draft_fingerprint, drafted_at) in (0, 4)),
  constraint drafted_has_draft check (state not in ('drafted', 'rework_requested') or draft_id is not null),
  constraint pending_has_no_draft check (state <> 'pending' or draft_id is null),
  constraint sent_as_a_whole check ((sent_message_id is null) = (sent_at is null)),
  constraint sent_has_message check (state <> 'sent' or sent_message_id is not null),
  constraint unsent_has_no_message check (state not in ('pending', 'drafted', 'rework_requested') or sent_message_id is null)
) with (fillfactor = 80);
create unique index emails_draft on emails (org_id, account_id, draft_id) where draft_id is not null;
create index emails_draft_id on emails using hash (draft_id) where draft_id is not null;
create unique index emails_draft_message on emails (org_id, account_id, draft_message_id) where draft_message_id is not null;
-- For the deletion of its token.
create index emails_draft_token on emails (draft_token, account_id) where draft_token is not null;
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
  gmail_message_id postroom.gmail_id not null,
  job_id uuid,
  source postroom.decision_source not null,
  classification postroom.classification not null,
  confidence postroom.confidence not null,
  rationale text not null check (length(rationale) <= 4000),
  needs_reply boolean not null default false,
  needs_review boolean not null default false,
  caution boolean not null default false,
  label_ids postroom.short_list not null default '{}',
  rule_ids text[] not null default '{}' check (cardinality(rule_ids) <= 200),
  model text check (length(model) between 1 and 100),
  -- Which models and prompt gave no answer to use, where nobody decided; others may be asked anew. A message that these models
  -- refuse is not asked about again by each sync (docs: triage.md#undecided).
  undecided_by postroom.asked_models,
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
