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
  input_tokens postroom.whole_number not null,
  output_tokens postroom.whole_number not null,
  cache_creation_5m_tokens postroom.whole_number not null,
  cache_creation_1h_tokens postroom.whole_number not null,
  cache_read_tokens postroom.whole_number not null,
  cost_microcents postroom.whole_number not null,
  at timestamptz not null default now(),
  foreign key (org_id, account_id) references accounts (org_id, id)
);
-- A call that is recorded twice has been paid once.
create unique index llm_calls_request on llm_calls (org_id, request_id) where request_id is not null;
create index llm_calls_org on llm_calls (org_id, at);
call postroom.fence_table('llm_calls');
call postroom.erasure_rule('llm_calls',
  org_keeps => $${"account_id": "null", "refusal": "null"}$$,
  person_keeps => $${"account_id": "null", "refusal": "null"}$$);
grant select, insert, delete on llm_calls to postroom_ledger;
grant select, insert on llm_calls to postroom_tenant;

-- Orgs whose daily budget is their own; all others have the installation's (`POSTROOM_DAILY_BUDGET_MICROCENTS`).
create table org_budgets (
  org_id uuid primary key references orgs (id),
  daily_microcents bigint not null check (daily_microcents between 0 and 1000000000000000000),
  set_by text not null check (length(set_by) between 1 and 200),
  set_at timestamptz not null default now()
);
call postroom.fence_table('org_budgets', 'org_id', 'select');
call postroom.erasure_rule('org_budgets', org_keeps => $${"set_by": "'erased'"}$$, refuses_new => true);
grant select, insert, update, delete on org_budgets to postroom_ledger;
grant select on org_budgets to postroom_tenant;

-- What an org has spent on the model in a day (UTC), and what is reserved for calls that are under way. A day that is
-- exhausted has been audited once.
create table budget_days (
  org_id uuid not null references orgs (id),
  day date not null,
  spent_microcents postroom.whole_number not null default 0,
  reserved_microcents postroom.whole_number not null default 0,
  exhausted_at timestamptz,
  primary key (org_id, day)
) with (fillfactor = 70);
call postroom.fence_table('budget_days', 'org_id', 'select');
call postroom.erasure_rule('budget_days', org_keeps => '{}');
grant select, insert, update, delete on budget_days to postroom_ledger;
grant select on budget_days to postroom_tenant;

-- What is set aside for one call, named by the claim that makes it. It goes when the call is settled. When its claim is gone
-- first, nobody knows whether the call was billed: then it is charged, and stays a while, so that a late answer corrects it.
create table budget_reservations (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  day date not null,
  job_id uuid not null,
  token uuid not null,
  microcents postroom.whole_number not null,
  made_at timestamptz not null default now(),
  charged_at timestamptz,
  foreign key (org_id, day) references budget_days (org_id, day)
);
create index budget_reservations_open on budget_reservations (org_id, day) where charged_at is null;
create index budget_reservations_age on budget_reservations (made_at);
call postroom.fence_table('budget_reservations', 'org_id', 'select');
call postroom.erasure_rule('budget_reservations', org_keeps => '{}');
grant select, insert, update, delete on budget_reservations to postroom_ledger;
-- Not the token: whoever knows the token of a claim can write as its holder (promise P4).
grant select (id, org_id, day, job_id, microcents, made_at, charged_at) on budget_reservations to postroom_tenant;
