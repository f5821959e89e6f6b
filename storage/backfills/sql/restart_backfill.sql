-- Begins with the first page again: Gmail no longer knows the page's token.
update backfills set page_token = null, restarts = restarts + 1, changed_at = now()
where id = %(backfill_id)s and pages = %(pages)s and page_token is not null
