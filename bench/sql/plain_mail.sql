-- The tables of the pipeline in plain Celery: what its tasks read, and one row for each message.
create table boxes (
  id uuid primary key default gen_random_uuid(),
  email text not null unique,
  access_token text not null,
  needs_response text not null,
  outbox text not null
);

create table mail (
  box_id uuid not null references boxes,
  message_id text not null,
  thread_id text not null,
  received_at timestamptz not null,
  labels text[] not null,
  subject text not null,
  document jsonb not null,
  automation jsonb not null,
  primary key (box_id, message_id)
);
create index mail_thread on mail (box_id, thread_id, received_at);

create table decisions (
  box_id uuid not null,
  message_id text not null,
  source text not null,
  classification text not null,
  confidence double precision not null,
  rationale text not null,
  wants_draft boolean not null,
  decided_at timestamptz not null default now(),
  primary key (box_id, message_id),
  foreign key (box_id, message_id) references mail
);

create table drafts (
  box_id uuid not null,
  thread_id text not null,
  message_id text not null,
  draft_id text not null,
  made_at timestamptz not null default now(),
  primary key (box_id, thread_id),
  foreign key (box_id, message_id) references mail
);
