-- The Discord channel in which an org is asked (docs/explanation/approvals.md). A channel belongs to one org, so that no org's mail is
-- shown to another.
create table approval_channels (
  org_id uuid primary key references orgs (id),
  channel_id text not null unique check (channel_id ~ '^[1-9][0-9]{0,19}$'),
  set_at timestamptz not null default now()
);
call postroom.fence_table('approval_channels');
call postroom.erasure_rule('approval_channels', refuses_new => true);
grant select, insert, update, delete on approval_channels to postroom_ledger;
grant select on approval_channels to postroom_tenant;

-- A message that asks about an action, or a node of a workflow: number 0 is the first, 1 the reminder.
create table approval_notices (
  approval_id uuid not null,
  number smallint not null check (number in (0, 1)),
  org_id uuid not null references orgs (id),
  -- Of an action.
  account_id uuid,
  -- Of a node.
  run_id uuid,
  channel_id text not null check (length(channel_id) between 1 and 20),
  message_id text not null check (length(message_id) between 1 and 20),
  posted_at timestamptz not null default now(),
  primary key (approval_id, number),
  foreign key (org_id, account_id, approval_id) references actions (org_id, account_id, id),
  foreign key (org_id, run_id) references workflow_runs (org_id, id) on delete cascade,
  constraint about_one_subject check (num_nonnulls(account_id, run_id) = 1)
);
create index approval_notices_message on approval_notices using hash (message_id);
create index approval_notices_of_run on approval_notices (run_id) where run_id is not null;
call postroom.fence_table('approval_notices');
call postroom.erasure_rule('approval_notices');
grant select, insert, update, delete on approval_notices to postroom_ledger;
grant select, insert on approval_notices to postroom_tenant;
-- By column: the right to update a whole table is the right to lock it.
grant update (channel_id, message_id, posted_at) on approval_notices to postroom_tenant;
