-- An account's backfills, the latest first.
select id as backfill_id, account_id, query, since, until_at, classify, most, state, page_token, next_page_at, pages, restarts, found,
  ordered, handled, stored, started_at, changed_at
from backfills where account_id = %(account_id)s
order by changed_at desc, id
limit %(limit)s
