-- How mail is classified: the user's rules, what the model is given, and every decision with the actions it led to.

-- The label ids that a rule names anywhere, in its conditions or its actions.
create function postroom.named_labels(document jsonb) returns text[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct label #>> '{}'), '{}') from jsonb_path_query(document, '$.**.label_id') as label
  where jsonb_typeof(label) = 'string'
$$;
grant execute on function postroom.named_labels(jsonb) to postroom_ledger, postroom_tenant;

-- The user's own rules; one without an account is the whole org's.
create table rules (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  name text not null check (length(name) between 1 and 200),
  priority integer not null default 100 check (priority between 0 and 10000),
  -- Condition, decision and stop, as domain/mail/triage/rules.py reads them.
  definition jsonb not null check (jsonb_typeof(definition) = 'object' and octet_length(definition::text) <= 200000),
  label_ids text[] not null generated always as (postroom.named_labels(definition)) stored,
  enabled boolean not null default true,
  disabled_reason text check (length(disabled_reason) between 1 and 300),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint only_disabled_has_reason check (not enabled or disabled_reason is null)
);
create index rules_scope on rules (org_id, account_id) where enabled;
call postroom.fence_table('rules');
grant select, insert, update, delete on rules to postroom_ledger;
grant select, insert, update, delete on rules to postroom_tenant;

-- Scopes: 'global' is the whole org, 'account' one mailbox; 'domain' and 'sender' name whom the mail comes from, in one
-- mailbox or, without an account, in all of the org's.
-- Conditions in plain words, which the model decides.
create table llm_rules (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  scope text not null check (scope in ('global', 'account', 'domain', 'sender')),
  scope_ref text check (length(scope_ref) between 1 and 320 and scope_ref = lower(scope_ref)),
  name text not null check (length(name) between 1 and 200),
  content text not null check (length(content) between 1 and 4000),
  label_ids text[] not null default '{}' check (cardinality(label_ids) <= 200),
  enabled boolean not null default true,
  disabled_reason text check (length(disabled_reason) between 1 and 300),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint scope_fits_account check (
    case scope when 'global' then account_id is null when 'account' then account_id is not null else true end),
  constraint scope_fits_ref check ((scope in ('domain', 'sender')) = (scope_ref is not null)),
  constraint sender_is_an_address check (scope <> 'sender' or position('@' in scope_ref) > 0),
  constraint domain_is_none check (scope <> 'domain' or position('@' in scope_ref) = 0),
  constraint only_disabled_has_reason check (not enabled or disabled_reason is null)
);
create index llm_rules_scope on llm_rules (org_id, scope, scope_ref) where enabled;
call postroom.fence_table('llm_rules');
grant select, insert, update, delete on llm_rules to postroom_ledger;
grant select, insert, update, delete on llm_rules to postroom_tenant;

-- Standing orders to the model: tone, priorities, what to leave alone.
create table directions (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  scope text not null check (scope in ('global', 'account', 'domain', 'sender')),
  scope_ref text check (length(scope_ref) between 1 and 320 and scope_ref = lower(scope_ref)),
  content text not null check (length(content) between 1 and 4000),
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint scope_fits_account check (
    case scope when 'global' then account_id is null when 'account' then account_id is not null else true end),
  constraint scope_fits_ref check ((scope in ('domain', 'sender')) = (scope_ref is not null)),
  constraint sender_is_an_address check (scope <> 'sender' or position('@' in scope_ref) > 0),
  constraint domain_is_none check (scope <> 'domain' or position('@' in scope_ref) = 0)
);
create index directions_scope on directions (org_id, scope, scope_ref) where enabled;
call postroom.fence_table('directions');
grant select, insert, update, delete on directions to postroom_ledger;
grant select, insert, update, delete on directions to postroom_tenant;

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
  at timestamptz not null default now(),
  unique (org_id, account_id, id),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id),
  constraint only_a_model_has_a_name check (source = 'llm' or model is null),
  constraint only_a_rule_is_named check (source = 'deterministic' or rule_ids = '{}'),
  constraint undecided_is_reviewed check (classification <> 'needs_review' or needs_review)
);
-- A job that runs again has decided once; without a job (a person, a test) every decision is a new one.
create unique index decisions_job on decisions (org_id, account_id, gmail_message_id, job_id) where job_id is not null;
create index decisions_message on decisions (org_id, account_id, gmail_message_id, at desc);
call postroom.fence_table('decisions');
grant select, insert, delete on decisions to postroom_ledger;
grant select, insert on decisions to postroom_tenant;

create table actions (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  gmail_message_id text not null,
  decision_id uuid,
  undo_of uuid,
  job_id uuid,
  kind text not null check (kind in (
    'archive', 'apply_label', 'remove_label', 'mark_read', 'mark_unread', 'star', 'unstar', 'trash', 'restore', 'delete',
    'snooze', 'forward', 'auto_reply')),
  parameters jsonb not null default '{}' check (
    jsonb_typeof(parameters) = 'object' and octet_length(parameters::text) <= 200000 and postroom.carries_secret(parameters) is null),
  danger text not null check (danger in ('safe', 'reversible', 'dangerous')),
  reasons text[] not null default '{}' check (cardinality(reasons) <= 20),
  state text not null check (state in (
    'queued', 'approved_pending', 'running', 'succeeded', 'failed', 'undone', 'canceled')),
  undo_hint jsonb check (jsonb_typeof(undo_hint) = 'object' and octet_length(undo_hint::text) <= 200000),
  error jsonb check (octet_length(error::text) <= 20000),
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  unique (org_id, account_id, id),
  -- One undo wins.
  unique (org_id, account_id, undo_of),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id),
  foreign key (org_id, account_id, decision_id) references decisions (org_id, account_id, id),
  foreign key (org_id, account_id, undo_of) references actions (org_id, account_id, id),
  constraint final_when_finished check ((state in ('succeeded', 'failed', 'undone', 'canceled')) = (finished_at is not null)),
  constraint running_was_started check (state <> 'running' or started_at is not null),
  constraint waiting_has_a_reason check (state <> 'approved_pending' or cardinality(reasons) > 0),
  constraint done_can_say_how_to_undo check (state not in ('succeeded', 'undone') or undo_hint is not null),
  constraint failure_has_error check (state <> 'failed' or error is not null),
  constraint undoes_another check (undo_of is distinct from id)
);
create index actions_message on actions (org_id, account_id, gmail_message_id);
create index actions_decision on actions (org_id, account_id, decision_id) where decision_id is not null;
create index actions_waiting on actions (org_id, created_at) where state = 'approved_pending';
call postroom.fence_table('actions');
grant select, insert, update, delete on actions to postroom_ledger;
grant select, insert, update on actions to postroom_tenant;
