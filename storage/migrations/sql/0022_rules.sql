-- When a person is asked before an action, in a mailbox or, without an account, in all of the org's. Dangerous actions
-- wait whatever stands here: domain/mail/triage/safety.py sees to that, and nothing here could say otherwise.
create table safety_policies (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  account_id uuid,
  confidence_floor double precision not null check (confidence_floor between 0 and 1),
  always_approve text[] not null default '{}' check (cardinality(always_approve) <= 50),
  approve_from text not null check (approve_from in ('safe', 'reversible', 'dangerous')),
  updated_at timestamptz not null default now(),
  updated_by text not null check (length(updated_by) between 1 and 400),
  unique nulls not distinct (org_id, account_id),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
call postroom.fence_table('safety_policies');
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
  gmail_label_id text not null check (length(gmail_label_id) between 1 and 255),
  moved_to text check (length(moved_to) between 1 and 255),
  classification text not null check (length(classification) between 1 and 100),
  at timestamptz not null default now(),
  unique (org_id, account_id, decision_id, gmail_label_id),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id)
);
create index label_corrections_account on label_corrections (org_id, account_id, at desc);
create index label_corrections_age on label_corrections (at);
call postroom.fence_table('label_corrections');
grant select, insert, update, delete on label_corrections to postroom_ledger;
grant select, insert on label_corrections to postroom_tenant;
