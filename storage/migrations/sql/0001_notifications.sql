-- Words to people: templates, what was asked for and how it was delivered, addresses, wishes, digests, the inbox
-- (docs/explanation/notifications.md). With a user, everything about them goes.

-- Texts by channel; a version never changes.
create table notification_templates (
  org_id uuid not null references orgs (id),
  name text not null check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
  version integer not null check (version > 0),
  category text not null check (length(category) between 1 and 40),
  document jsonb not null,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (org_id, name, version)
);
call postroom.fence_table('notification_templates');
call postroom.erasure_rule('notification_templates', refuses_new => true);
grant select, insert on notification_templates to postroom_ledger;
grant select on notification_templates to postroom_tenant;

-- The key under which an org's addresses are hashed. No role has a right to it: only postroom.address_hash reads it.
create table address_keys (
  org_id uuid primary key references orgs (id),
  key bytea not null check (length(key) = 32)
);
call postroom.erasure_rule('address_keys');

-- Addresses and devices of people. Only one that is verified and not suppressed is written to.
create table contact_points (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  user_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  address text not null check (length(address) between 1 and 4096),
  -- Set by a trigger; a device's token is too long for an index.
  address_hash bytea not null,
  created_at timestamptz not null default now(),
  verified_at timestamptz,
  unique (org_id, user_id, channel, address_hash),
  constraint contact_points_of_org unique (org_id, id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade
);
create index contact_points_address on contact_points (org_id, channel, address_hash);
call postroom.fence_table('contact_points');
call postroom.erasure_rule('contact_points', refuses_new => true);
grant select, insert, update, delete on contact_points to postroom_ledger;
grant select on contact_points to postroom_tenant;

-- Addresses to which an org writes no more, whoever has them and whether anybody does: removing an address and adding it again, or
-- removing its person, lifts nothing. Not the address but its hash stands here, for the person may be gone.
create table suppressions (
  org_id uuid not null references orgs (id),
  channel text not null check (channel in ('email', 'sms', 'push')),
  address_hash bytea not null,
  suppressed_at timestamptz not null default now(),
  suppressed_for text not null check (suppressed_for in ('bounce', 'complaint', 'stop', 'invalid', 'unregistered')),
  primary key (org_id, channel, address_hash)
);
call postroom.fence_table('suppressions');
call postroom.erasure_rule('suppressions');
grant select, insert, delete on suppressions to postroom_ledger;
grant select, insert on suppressions to postroom_tenant;

-- The last code that was sent to an address, and how many were sent since the day began that is counted. As with suppressions, removing
-- an address and adding it again starts no count anew. No tenant reads the hash of six digits.
create table address_codes (
  org_id uuid not null references orgs (id),
  channel text not null check (channel in ('email', 'sms')),
  address_hash bytea not null,
  code_hash bytea,
  expires_at timestamptz not null,
  tries smallint not null default 0,
  counted_from timestamptz not null default now(),
  codes smallint not null default 1,
  primary key (org_id, channel, address_hash)
);
create index address_codes_age on address_codes (counted_from);
call postroom.erasure_rule('address_codes');
grant select, insert, update, delete on address_codes to postroom_ledger;

-- What a person wants of a category by a channel; without a row, everything at once.
create table preferences (
  org_id uuid not null,
  user_id uuid not null,
  category text not null check (length(category) between 1 and 40),
  channel text not null check (channel in ('email', 'sms', 'push', 'inbox')),
  choice text not null check (choice in ('now', 'digest', 'off')),
  changed_at timestamptz not null default now(),
  primary key (org_id, user_id, category, channel),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade
);
call postroom.fence_table('preferences');
call postroom.erasure_rule('preferences', refuses_new => true);
grant select, insert, update, delete on preferences to postroom_ledger;
grant select on preferences to postroom_tenant;

-- When nothing may ring, by the clock of the person's zone (`users.zone`).
create table quiet_hours (
  org_id uuid not null,
  user_id uuid not null,
  begins time not null,
  ends time not null check (ends <> begins),
  primary key (org_id, user_id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade
);
call postroom.fence_table('quiet_hours');
call postroom.erasure_rule('quiet_hours', refuses_new => true);
grant select, insert, update, delete on quiet_hours to postroom_ledger;
grant select on quiet_hours to postroom_tenant;

-- By whom an org's text messages and pushes leave; e-mail has email_senders. The secret stands in org_secrets.
create table channel_senders (
  org_id uuid not null references orgs (id) check (org_id <> '00000000-0000-7000-8000-000000000000'),
  channel text not null check (channel in ('sms', 'push')),
  provider text not null check (provider in ('twilio', 'fcm')),
  -- The number that text messages come from, or the project whose app gets the pushes.
  from_name text not null check (length(from_name) between 1 and 100),
  secret text not null check (secret ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  set_at timestamptz not null default now(),
  set_by text not null,
  primary key (org_id, channel),
  check ((channel, provider) in (('sms', 'twilio'), ('push', 'fcm')))
);
call postroom.fence_table('channel_senders', 'org_id', 'select');
call postroom.erasure_rule('channel_senders', refuses_new => true);
grant select, insert, update, delete on channel_senders to postroom_ledger;
grant select on channel_senders to postroom_tenant;

-- What was asked for; its words are the template's of that version and the data. The job that delivers it names it.
create table notifications (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  user_id uuid not null,
  template text not null check (length(template) between 1 and 100),
  version integer,
  data jsonb not null check (octet_length(data::text) <= 16384),
  data_hash text not null check (data_hash ~ '^[0-9a-f]{64}$'),
  bucket text not null check (length(bucket) <= 200),
  -- To this address alone, though it is not verified: its code.
  contact_id uuid,
  channels text[] check (channels <@ array['email', 'sms', 'push', 'inbox']),
  -- The time for which it is meant, such as a reminder's; null: when it was asked for.
  due_at timestamptz,
  asked_at timestamptz not null default now(),
  planned_at timestamptz,
  constraint notifications_of_org unique (org_id, id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade,
  foreign key (org_id, contact_id) references contact_points (org_id, id) on delete cascade
);
create index notifications_of_contact on notifications (org_id, contact_id) where contact_id is not null;
create index notifications_key on notifications (org_id, user_id, template, data_hash, bucket, asked_at);
create index notifications_of_user on notifications (org_id, user_id, asked_at, id);
create index notifications_listed on notifications (org_id, asked_at, id);
create index notifications_age on notifications (asked_at);
call postroom.fence_words('notifications');
call postroom.erasure_rule('notifications', refuses_new => true);
grant select, insert, update, delete on notifications to postroom_ledger;
grant select on notifications to postroom_tenant;
grant update (version, planned_at) on notifications to postroom_tenant;

-- Items are collected until the digest closes. One is open for each person, channel and category; which address it goes to is chosen when
-- it closes, so it outlives each address.
create table digests (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  user_id uuid not null,
  category text not null,
  channel text not null check (channel in ('email', 'sms', 'push')),
  closes_at timestamptz not null,
  closed_at timestamptz,
  constraint digests_of_org unique (org_id, id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade
);
create unique index digests_open on digests (org_id, user_id, channel, category) where closed_at is null;
create index digests_overdue on digests (closes_at) where closed_at is null;
create index digests_age on digests (closed_at) where closed_at is not null;
create index digests_of_user on digests (org_id, user_id);
call postroom.fence_words('digests');
call postroom.erasure_rule('digests');
grant select, insert, update, delete on digests to postroom_ledger;
grant select, insert on digests to postroom_tenant;
grant update (closed_at) on digests to postroom_tenant;

create table digest_items (
  digest_id uuid not null,
  notification_id uuid not null,
  org_id uuid not null,
  primary key (digest_id, notification_id),
  foreign key (org_id, digest_id) references digests (org_id, id) on delete cascade,
  foreign key (org_id, notification_id) references notifications (org_id, id) on delete cascade
);
create index digest_items_of_notification on digest_items (org_id, notification_id);
call postroom.fence_words('digest_items');
call postroom.erasure_rule('digest_items');
grant select, insert, update, delete on digest_items to postroom_ledger;
grant select, insert on digest_items to postroom_tenant;

create domain postroom.delivery_state as text check (value in ('queued', 'collected', 'handed_over', 'delivered', 'failed', 'suppressed', 'expired', 'unknown'));
create domain postroom.delivery_reason as text check (length(value) <= 300);
create domain postroom.provider_id as text check (length(value) <= 500);
-- Each of the two bodies of an e-mail has 64 KB at most, and JSON writes a byte as up to six.
create domain postroom.said as jsonb check (octet_length(value::text) <= 1048576);
create domain postroom.delivery_channel as text check (value in ('email', 'sms', 'push', 'inbox'));

-- What became of a notification, or of a digest, on a channel: one message to one address, or why there is none.
create table deliveries (
  id uuid primary key,
  org_id uuid not null,
  user_id uuid not null,
  notification_id uuid,
  digest_id uuid,
  channel postroom.delivery_channel not null,
  contact_id uuid,
  -- Of its contact, which may be removed before a receipt tells that the address is good for nothing.
  address_hash bytea,
  state postroom.delivery_state not null,
  reason postroom.delivery_reason,
  provider_id postroom.provider_id,
  -- Its words as they were when it was decided, for each attempt, with category and longest age; none from the time when a provider has taken it.
  -- Those of a digest's item stay.
  said postroom.said,
  due_at timestamptz,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  check (num_nonnulls(notification_id, digest_id) = 1),
  constraint deliveries_of_org unique (org_id, id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade,
  foreign key (org_id, notification_id) references notifications (org_id, id) on delete cascade,
  foreign key (org_id, digest_id) references digests (org_id, id) on delete cascade,
  foreign key (org_id, contact_id) references contact_points (org_id, id) on delete set null (contact_id)
);
create index deliveries_of_notification on deliveries (org_id, notification_id);
create index deliveries_of_digest on deliveries (org_id, digest_id);
create index deliveries_of_user on deliveries (org_id, user_id);
create index deliveries_of_contact on deliveries (org_id, contact_id);
create index deliveries_provider on deliveries (org_id, provider_id) where provider_id is not null;
call postroom.fence_words('deliveries');
call postroom.erasure_rule('deliveries');
grant select, insert, update, delete on deliveries to postroom_ledger;
grant select, insert on deliveries to postroom_tenant;
grant update (state, reason, provider_id, said, changed_at) on deliveries to postroom_tenant;

-- What a provider of e-mail says of a mail by its own id. The receipt may come before the send is written down: whoever of the two comes
-- second finds the other here, and waits for it where it is about to be written.
create table email_receipts (
  org_id uuid not null references orgs (id),
  provider_id text not null check (length(provider_id) between 1 and 500),
  -- Null: no send of that id is known (yet).
  delivery_id uuid,
  state text check (state in ('handed_over', 'delivered', 'failed')),
  reason text check (length(reason) <= 300),
  suppress_for text check (suppress_for in ('bounce', 'complaint')),
  at timestamptz not null default now(),
  primary key (org_id, provider_id),
  foreign key (org_id, delivery_id) references deliveries (org_id, id) on delete cascade
);
create index email_receipts_of_delivery on email_receipts (org_id, delivery_id) where delivery_id is not null;
create index email_receipts_unknown on email_receipts (at) where delivery_id is null;
call postroom.fence_table('email_receipts');
call postroom.erasure_rule('email_receipts');
grant select, insert, update, delete on email_receipts to postroom_ledger;
grant select, insert on email_receipts to postroom_tenant;
grant update (delivery_id) on email_receipts to postroom_tenant;

-- The newest number of each person's inbox. Its row is locked while an item gets its number, so numbers are seen in their order.
create table inboxes (
  org_id uuid not null,
  user_id uuid not null,
  last_seq bigint not null,
  primary key (org_id, user_id),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade
);
call postroom.fence_words('inboxes');
call postroom.erasure_rule('inboxes');
grant select, insert, update, delete on inboxes to postroom_ledger;
grant select, insert on inboxes to postroom_tenant;
grant update (last_seq) on inboxes to postroom_tenant;

create table inbox_items (
  org_id uuid not null,
  user_id uuid not null,
  seq bigint not null,
  notification_id uuid not null,
  category text not null,
  title text not null,
  body text not null,
  link text,
  created_at timestamptz not null default now(),
  read_at timestamptz,
  primary key (org_id, user_id, seq),
  foreign key (org_id, user_id) references users (org_id, id) on delete cascade,
  foreign key (org_id, notification_id) references notifications (org_id, id) on delete cascade
);
create unique index inbox_items_of_notification on inbox_items (org_id, notification_id);
create index inbox_items_unread on inbox_items (org_id, user_id, seq) where read_at is null;
call postroom.fence_words('inbox_items');
call postroom.erasure_rule('inbox_items');
grant select, insert, update, delete on inbox_items to postroom_ledger;
grant select, insert on inbox_items to postroom_tenant;
