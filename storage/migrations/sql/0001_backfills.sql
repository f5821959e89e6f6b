-- How far a mailbox's older mail has been taken in: a row per account, search and window, of the job that is at it or was last.
create table backfills (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  job_id uuid not null,
  query text not null check (length(query) <= 500),
  since timestamptz,
  until timestamptz,
  -- What came in after it is history's to report.
  until_at timestamptz not null,
  classify boolean not null,
  most integer not null check (most between 1 and 100000),
  -- cut: `most` was reached; there may be more.
  state text not null default 'listing' check (state in ('listing', 'listed', 'cut')),
  page_token text check (length(page_token) between 1 and 2000),
  next_page_at timestamptz not null default now(),
  pages integer not null default 0 check (pages >= 0),
  restarts integer not null default 0 check (restarts >= 0),
  -- Messages that the pages named; of them those that were to be fetched; of these those whose batches are done; and those that were stored.
  found integer not null default 0 check (found >= 0),
  ordered integer not null default 0 check (ordered >= 0),
  handled integer not null default 0 check (handled >= 0),
  stored integer not null default 0 check (stored >= 0),
  started_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  unique nulls not distinct (org_id, account_id, query, since, until),
  foreign key (org_id, account_id) references accounts (org_id, id)
) with (fillfactor = 80);
call postroom.fence_table('backfills');
call postroom.erasure_rule('backfills');
grant select, insert, update, delete on backfills to postroom_ledger;
grant select, insert on backfills to postroom_tenant;
grant update (
  job_id, until_at, classify, most, state, page_token, next_page_at, pages, restarts, found, ordered, handled, stored, started_at, changed_at
) on backfills to postroom_tenant;
