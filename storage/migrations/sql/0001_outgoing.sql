-- Mail that leaves (docs/explanation/sending.md): one row per action that sends, written before the draft is made, so that a draft or a
-- sent mail whose answer was lost is found again, and our own mail is recognised when it comes back.
create table outgoing_mails (
  org_id uuid not null,
  account_id uuid not null,
  action_id uuid not null,
  token postroom.draft_token not null,
  message_type text not null check (message_type in ('reply', 'forward', 'new')),
  -- No person approved it.
  automatic boolean not null,
  -- Where the mailbox's history stood before the draft was made: whatever was lost is in the history after it.
  history_id postroom.history_id not null,
  draft_id postroom.gmail_id,
  draft_message_id postroom.gmail_id,
  draft_thread_id postroom.gmail_id,
  send_began_at timestamptz,
  sent_message_id postroom.gmail_id,
  sent_thread_id postroom.gmail_id,
  sent_at timestamptz,
  -- The Message-ID that Gmail gave it, which the next reply names.
  rfc_message_id text check (length(rfc_message_id) between 1 and 2000),
  created_at timestamptz not null default now(),
  primary key (org_id, account_id, action_id),
  unique (org_id, account_id, token),
  foreign key (org_id, account_id, action_id) references actions (org_id, account_id, id),
  constraint draft_as_a_whole check (num_nonnulls(draft_id, draft_message_id, draft_thread_id) in (0, 3)),
  constraint sent_as_a_whole check (num_nonnulls(sent_message_id, sent_thread_id, sent_at) in (0, 3)),
  constraint only_the_sent_has_an_id check (rfc_message_id is null or sent_message_id is not null)
);
-- A mail that no sync has brought yet is found by what Gmail called it.
create index outgoing_mails_sent on outgoing_mails using hash (sent_message_id) where sent_message_id is not null;
create index outgoing_mails_rfc_id on outgoing_mails using hash (rfc_message_id) where rfc_message_id is not null;
call postroom.fence_table('outgoing_mails');
call postroom.erasure_rule('outgoing_mails');
grant select, insert, update, delete on outgoing_mails to postroom_ledger;
grant select, insert on outgoing_mails to postroom_tenant;
grant update (
  draft_id, draft_message_id, draft_thread_id, send_began_at, sent_message_id, sent_thread_id, sent_at, rfc_message_id
) on outgoing_mails to postroom_tenant;

-- Who got an answer that no person approved, and by which action: at most one in seven days (docs/explanation/automated-mail.md).
create table automatic_answers (
  org_id uuid not null,
  account_id uuid not null,
  address postroom.address not null,
  action_id uuid not null,
  answered_at timestamptz not null default now(),
  primary key (org_id, account_id, address),
  foreign key (org_id, account_id, action_id) references actions (org_id, account_id, id)
);
-- For the deletion of its action.
create index automatic_answers_action on automatic_answers (action_id);
call postroom.fence_table('automatic_answers');
call postroom.erasure_rule('automatic_answers');
grant select, insert, update, delete on automatic_answers to postroom_ledger;
grant select, insert on automatic_answers to postroom_tenant;
grant update (action_id, answered_at) on automatic_answers to postroom_tenant;
