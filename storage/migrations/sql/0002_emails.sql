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
call postroom.fence_table('emails');
grant select, insert, update, delete on emails to postroom_ledger;
grant select, insert, update on emails to postroom_tenant;

-- What the language model cost, one row per call, recorded also when its answer was refused.
create table llm_calls (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  job_id uuid,
  purpose text not null check (purpose ~ '^[a-z_]{1,40}$'),
  model text not null check (length(model) between 1 and 100),
  stop_reason text not null check (length(stop_reason) between 1 and 100),
  request_id text check (length(request_id) between 1 and 200),
  refusal text check (length(refusal) between 1 and 1000),
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  cache_creation_5m_tokens bigint not null check (cache_creation_5m_tokens >= 0),
  cache_creation_1h_tokens bigint not null check (cache_creation_1h_tokens >= 0),
  cache_read_tokens bigint not null check (cache_read_tokens >= 0),
  cost_microcents bigint not null check (cost_microcents >= 0),
  at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
-- A call that is recorded twice has been paid once.
create unique index llm_calls_request on llm_calls (org_id, request_id) where request_id is not null;
create index llm_calls_org on llm_calls (org_id, at);
call postroom.fence_table('llm_calls');
grant select, insert, delete on llm_calls to postroom_ledger;
grant select, insert on llm_calls to postroom_tenant;
