-- E-mail that services send (docs/explanation/email.md). By whom an org's mail leaves; the secret stands in org_secrets.
create table email_senders (
  org_id uuid primary key references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  provider text not null check (provider in ('graph', 'resend')),
  from_address text not null check (length(from_address) between 3 and 1000),
  mailbox text check (length(mailbox) between 3 and 320),
  secret text not null check (secret ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  -- Of these credentials: as in org_credentials.
  set_at timestamptz not null default now(),
  set_by text not null,
  constraint graph_has_a_mailbox check ((mailbox is not null) = (provider = 'graph'))
);
call postroom.fence_table('email_senders', 'org_id', 'select');
call postroom.erasure_rule('email_senders', refuses_new => true);
grant select, insert, update on email_senders to postroom_ledger;
grant select on email_senders to postroom_tenant;

-- Mails that services ordered: the words stand here and in no job. What is bound to an order is the sender that an attempt began with.
create table email_orders (
  id uuid primary key default uuidv7(),
  org_id uuid not null references orgs (id),
  words jsonb not null check (jsonb_typeof(words) = 'object'),
  reference text check (length(reference) <= 100),
  -- Its words are a notification's, which is of no project.
  is_notification boolean not null default false,
  state text not null default 'queued' check (state in ('queued', 'sent', 'failed', 'dead', 'canceled')),
  provider text check (provider in ('graph', 'resend')),
  from_address text,
  mailbox text,
  -- Graph's draft. Not the result of its effect: results are searched for secrets, and one id in fifty thousand looks like one.
  draft_id text check (length(draft_id) between 1 and 500),
  draft_message_id text check (length(draft_message_id) between 1 and 998),
  provider_id text check (length(provider_id) between 1 and 500),
  message_id text check (length(message_id) between 1 and 998),
  error jsonb,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint bound_as_a_whole check ((provider is null) = (from_address is null)),
  constraint sent_says_by_whom check (state <> 'sent' or (provider_id is not null and provider is not null)),
  constraint ended_has_its_time check ((state = 'queued') = (ended_at is null))
);
-- An order's id may be made of its caller's key, and says nothing of the order's age.
create index email_orders_of_org on email_orders (org_id, created_at, id);
create index email_orders_old on email_orders (ended_at) where state <> 'queued';
call postroom.fence_table('email_orders', seen_if => '((select postroom.current_project()) is null or not is_notification)');
call postroom.erasure_rule('email_orders', refuses_new => true);
grant select, insert, update, delete on email_orders to postroom_ledger;
grant select, insert on email_orders to postroom_tenant;
grant update (
  state, provider, from_address, mailbox, draft_id, draft_message_id, provider_id, message_id, error, ended_at
) on email_orders to postroom_tenant;
