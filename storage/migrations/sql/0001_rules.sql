-- What owners have said about mail; a rule without an account is the whole org's. Kinds: 'when' has conditions and a decision,
-- 'tell' has conditions in plain words, which the model decides, and 'direction' is a standing order to the model: tone, priorities,
-- what to leave alone.
-- Scopes: 'global' is the whole org, 'account' one mailbox; 'domain' and 'sender' name whom the mail comes from, in one
-- mailbox or, without an account, in all of the org's.
create table rules (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  kind text not null check (kind in ('when', 'tell', 'direction')),
  scope text not null check (scope in ('global', 'account', 'domain', 'sender')),
  scope_ref text check (length(scope_ref) between 1 and 320 and scope_ref = lower(scope_ref collate "pg_c_utf8")),
  name text check (length(name) between 1 and 200),
  priority integer not null default 100 check (priority between 0 and 10000),
  -- Of 'when': when, then and stop, in the words of the language of rules. Of 'tell': the labels that the words name.
  definition jsonb not null default '{}' check (jsonb_typeof(definition) = 'object' and octet_length(definition::text) <= 200000),
  content text check (length(content) between 1 and 4000),
  label_ids text[] not null generated always as (postroom.named_labels(definition)) stored,
  enabled boolean not null default true,
  disabled_reason text check (length(disabled_reason) between 1 and 300),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id),
  constraint scope_fits_account check (
    case scope when 'global' then account_id is null when 'account' then account_id is not null else kind <> 'when' end),
  constraint scope_fits_ref check ((scope in ('domain', 'sender')) = (scope_ref is not null)),
  constraint sender_is_an_address check (scope <> 'sender' or position('@' in scope_ref) > 0),
  constraint domain_is_none check (scope <> 'domain' or position('@' in scope_ref) = 0),
  constraint all_but_directions_have_names check ((kind = 'direction') = (name is null)),
  constraint all_but_conditions_have_words check ((kind = 'when') = (content is null)),
  constraint only_disabled_has_reason check (not enabled or disabled_reason is null)
);
create index rules_scope on rules (org_id, account_id) where enabled;
call postroom.fence_table('rules');
call postroom.erasure_rule('rules', refuses_new => true);
grant select, insert, update, delete on rules to postroom_ledger;
-- No statement of a handler deletes a rule: it is switched off.
grant select, insert, update (scope, scope_ref, name, priority, definition, content, enabled, disabled_reason, updated_at) on rules
  to postroom_tenant;

-- When a person is asked before an action, in a mailbox or, without an account, in all of the org's. Dangerous actions
-- wait whatever stands here: domain/mail/triage/safety.py sees to that, and nothing here could say otherwise.
create table safety_policies (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  confidence_floor postroom.confidence not null,
  always_approve text[] not null default '{}' check (cardinality(always_approve) <= 50),
  approve_from text not null check (approve_from in ('safe', 'reversible', 'dangerous')),
  updated_at timestamptz not null default now(),
  updated_by text not null check (length(updated_by) between 1 and 400),
  unique nulls not distinct (org_id, account_id),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
call postroom.fence_table('safety_policies');
call postroom.erasure_rule('safety_policies');
grant select, insert, update, delete on safety_policies to postroom_ledger;
grant select on safety_policies to postroom_tenant;

-- An owner took a label off that a decision of ours had put on; moved_to is the label that came in its place. The next
-- classifications are told of it for 90 days (domain/mail/triage/corrections.py).
create table label_corrections (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  account_id uuid not null,
  gmail_message_id text not null,
  decision_id uuid not null,
  gmail_label_id postroom.google_id not null,
  moved_to postroom.google_id,
  classification text not null check (length(classification) between 1 and 100),
  at timestamptz not null default now(),
  unique (org_id, account_id, decision_id, gmail_label_id),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id)
);
create index label_corrections_account on label_corrections (org_id, account_id, at desc);
-- For the deletion of its message.
create index label_corrections_message on label_corrections (gmail_message_id, account_id);
call postroom.fence_table('label_corrections');
call postroom.erasure_rule('label_corrections');
grant select, insert, update, delete on label_corrections to postroom_ledger;
grant select, insert on label_corrections to postroom_tenant;
