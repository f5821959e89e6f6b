-- columns: backfill
id as backfill_id, account_id, query, since, until_at, classify, most, state, page_token, next_page_at, pages, restarts, found,
  ordered, handled, stored, started_at, changed_at

-- name: open_backfill
-- Begins a backfill, or goes on with that of this very job. Another job begins with the first page again: batches that an earlier one has
-- ordered may have been canceled with it. What they have stored is passed over.
with asked as (
  select a.org_id, a.id as account_id from accounts a where a.id = %(account_id)s
)
insert into backfills as b (org_id, account_id, job_id, query, since, until, until_at, classify, most, next_page_at)
select org_id, account_id, %(job_id)s, %(query)s, %(since)s, %(until)s, %(until_at)s, %(classify)s, %(most)s, %(now)s from asked
on conflict (org_id, account_id, query, since, until) do update set
  job_id = excluded.job_id,
  classify = excluded.classify,
  most = excluded.most,
  changed_at = now(),
  page_token = case when b.job_id = excluded.job_id then b.page_token end,
  until_at = case when b.job_id = excluded.job_id then b.until_at else excluded.until_at end,
  started_at = case when b.job_id = excluded.job_id then b.started_at else now() end,
  next_page_at = case when b.job_id = excluded.job_id then b.next_page_at else excluded.next_page_at end,
  pages = case when b.job_id = excluded.job_id then b.pages else 0 end,
  restarts = case when b.job_id = excluded.job_id then b.restarts else 0 end,
  found = case when b.job_id = excluded.job_id then b.found else 0 end,
  ordered = case when b.job_id = excluded.job_id then b.ordered else 0 end,
  handled = case when b.job_id = excluded.job_id then b.handled else 0 end,
  stored = case when b.job_id = excluded.job_id then b.stored else 0 end,
  state = case when b.job_id = excluded.job_id then b.state else 'listing' end
returning columns(backfill)

-- name: get_backfill
-- One backfill.
select columns(backfill) from backfills where id = %(backfill_id)s

-- name: list_backfills
-- An account's backfills, the latest first.
select columns(backfill) from backfills where account_id = %(account_id)s
order by changed_at desc, id
limit %(limit)s

-- name: advance_backfill
-- Goes on to the next page, unless another attempt has done so from the same one.
update backfills set
  page_token = %(page_token)s, state = %(state)s, next_page_at = %(next_page_at)s, pages = pages + 1, found = found + %(found)s,
  ordered = ordered + %(ordered)s, changed_at = now()
where id = %(backfill_id)s and pages = %(pages)s and state = 'listing'
returning id

-- name: restart_backfill
-- Begins with the first page again: Gmail no longer knows the page's token. What the pages named before is counted anew.
update backfills set page_token = null, restarts = restarts + 1, found = 0, changed_at = now()
where id = %(backfill_id)s and pages = %(pages)s and page_token is not null

-- name: count_backfilled
-- Counts what a batch has done.
update backfills set handled = handled + %(handled)s, stored = stored + %(stored)s, changed_at = now() where id = %(backfill_id)s
