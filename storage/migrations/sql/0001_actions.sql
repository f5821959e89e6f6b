create domain postroom.action_kind as text check (value in (
  'archive', 'apply_label', 'remove_label', 'mark_read', 'mark_unread', 'star', 'unstar', 'trash', 'restore', 'delete',
  'snooze', 'forward', 'auto_reply', 'undo'));
create domain postroom.action_state as text check (value in (
  'queued', 'approved_pending', 'approved', 'executing', 'done', 'failed', 'denied', 'expired', 'undone', 'canceled'));
create domain postroom.action_parameters as jsonb check (
  jsonb_typeof(value) = 'object' and octet_length(value::text) <= 200000 and postroom.carries_secret(value) is null);
create domain postroom.action_files as jsonb check (jsonb_typeof(value) = 'array' and octet_length(value::text) <= 300000);
create domain postroom.action_error as jsonb check (octet_length(value::text) <= 20000);
create domain postroom.undo_hint as jsonb check (jsonb_typeof(value) = 'object' and octet_length(value::text) <= 200000);

-- What is done with mail, or waits to be (docs/explanation/actions.md).
create table actions (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  gmail_message_id postroom.gmail_id not null,
  decision_id uuid,
  -- Who asked, where no decision did: an API key, an operator, a job.
  requested_by text check (length(requested_by) between 1 and 200),
  -- The job that executes it.
  job_id uuid,
  kind postroom.action_kind not null,
  -- The version of the parameters (domain/mail/actions/requested_action.py).
  version smallint not null default 1 check (version between 1 and 1000),
  parameters postroom.action_parameters not null default '{}',
  -- Files of an action's mail, named in its parameters and kept beside them, so that a list of actions does not read them
  -- (domain/mail/actions/action_files.py): at most 180,000 bytes, which are 240,000 as base64.
  files postroom.action_files constraint files_go_with_a_mail check (files is null or kind in ('forward', 'auto_reply')),
  danger text not null check (danger in ('safe', 'reversible', 'dangerous')),
  reasons text[] not null default '{}' check (cardinality(reasons) <= 20),
  state postroom.action_state not null,
  -- A person's decision: who, when, until when it was possible, and why.
  approver text check (length(approver) between 1 and 200),
  decided_at timestamptz,
  approval_expires_at timestamptz,
  approval_reminded_at timestamptz,
  approval_reason text check (length(approval_reason) between 1 and 1000),
  undo_hint postroom.undo_hint,
  -- The message that a forward or an answer became.
  sent_message_id postroom.gmail_id,
  error postroom.action_error,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  unique (org_id, account_id, id),
  foreign key (org_id, account_id, gmail_message_id) references messages (org_id, account_id, gmail_message_id),
  foreign key (org_id, account_id, decision_id) references decisions (org_id, account_id, id),
  constraint final_when_finished check (
    (state in ('done', 'failed', 'denied', 'expired', 'undone', 'canceled')) = (finished_at is not null)),
  constraint executing_was_started check (state <> 'executing' or (started_at is not null and job_id is not null)),
  constraint waiting_has_a_reason check (state <> 'approved_pending' or cardinality(reasons) > 0),
  constraint done_can_say_how_to_undo check (state not in ('done', 'undone') or undo_hint is not null),
  constraint failure_has_error check (state not in ('failed', 'expired') or error is not null),
  constraint decided_as_a_whole check ((approver is null) = (decided_at is null)),
  constraint decided_by_somebody check (state not in ('approved', 'denied') or approver is not null)
);
create index actions_message on actions (org_id, account_id, gmail_message_id);
create index actions_decision on actions (org_id, account_id, decision_id) where decision_id is not null;
create index actions_waiting on actions (org_id, created_at) where state = 'approved_pending';
-- What the housekeeping looks at: actions that wait, those first whose time is over first.
create index actions_approval_due on actions (approval_expires_at) where state = 'approved_pending';
-- The end of a job finds its action by it.
create index actions_job on actions (job_id) where state in ('queued', 'approved', 'executing');
-- What a disconnection has ended, until the account is connected again.
create index actions_ended on actions (org_id, account_id, created_at, id) where state = 'canceled' and error ->> 'code' = 'account.disconnected';
create index actions_listed on actions (org_id, created_at desc, id desc);
call postroom.fence_table('actions');
call postroom.erasure_rule('actions');
grant select, insert, update, delete on actions to postroom_ledger;
-- Not who decided and why: a decision is written by the entry points, and never by a handler.
grant select, insert, update (
  state, undo_hint, error, job_id, approval_expires_at, sent_message_id, started_at, finished_at
) on actions to postroom_tenant;

-- The cause is the undo's own action, the effect the action that it takes back (docs: seeds.md#001-167).
create table action_links (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  cause_id uuid not null,
  effect_id uuid not null,
  relation text not null check (relation in ('undo_of')),
  created_at timestamptz not null default now(),
  foreign key (org_id, account_id, cause_id) references actions (org_id, account_id, id),
  foreign key (org_id, account_id, effect_id) references actions (org_id, account_id, id),
  constraint links_two check (cause_id <> effect_id)
);
-- One undo wins, and an undo takes one action back.
create unique index one_undo_per_action on action_links (org_id, account_id, effect_id) where relation = 'undo_of';
create unique index one_action_per_undo on action_links (org_id, account_id, cause_id) where relation = 'undo_of';
call postroom.fence_table('action_links');
call postroom.erasure_rule('action_links');
grant select, insert, update, delete on action_links to postroom_ledger;
grant select, insert on action_links to postroom_tenant;
