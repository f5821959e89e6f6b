-- What people want to be reminded of, and when (docs/explanation/reminders.md). With a user, the reminders go.
create table reminders (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  user_id uuid not null,
  title text not null check (length(title) between 1 and 200),
  body text check (length(body) between 1 and 3000),
  -- The clock's time in the zone, never an offset: the hour stays when the offset changes.
  starts_local timestamp not null,
  zone text not null check (length(zone) between 1 and 100),
  rule text check (length(rule) between 1 and 500),
  repeat_every_s integer check (repeat_every_s between 60 and 604800),
  repeat_at_most smallint check (repeat_at_most between 1 and 100),
  state text not null default 'pending' check (state in ('pending', 'queued', 'sent', 'done', 'canceled')),
  -- Rises with each ring and each change: a job of an earlier number is stale.
  occurrence integer not null default 1 check (occurrence > 0),
  -- This time decides, whatever a newer time zone database says.
  due_at timestamptz,
  -- Where the reminder goes on when the job of this due time ends without it ringing.
  following_at timestamptz,
  snoozed_until timestamptz,
  repeats smallint not null default 0 check (repeats between 0 and 100),
  sent_at timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 200),
  changed_at timestamptz not null default now(),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade,
  constraint due_until_it_is_over check ((state in ('pending', 'queued')) = (due_at is not null)),
  constraint goes_on_only_if_due check (following_at is null or due_at is not null),
  constraint repeats_are_bounded check ((repeat_every_s is null) = (repeat_at_most is null))
);
create index reminders_due on reminders (due_at, id) where state = 'pending';
create index reminders_of_org on reminders (org_id, id);
create index reminders_of_user on reminders (org_id, user_id, id);
create index reminders_over on reminders (changed_at) where due_at is null;
call postroom.fence_table('reminders');
call postroom.erasure_rule('reminders', refuses_new => true);
grant select, insert, update, delete on reminders to postroom_ledger;
grant select on reminders to postroom_tenant;
-- By column: the right to update a whole table is the right to lock it.
grant update (state, occurrence, due_at, following_at, snoozed_until, repeats, sent_at, changed_at) on reminders to postroom_tenant;
