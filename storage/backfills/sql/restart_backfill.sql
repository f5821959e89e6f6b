-- Begins with the first page again: Gmail no longer knows the page's token. What the pages named before is counted anew.
update backfills set page_token = null, restarts = restarts + 1, found = 0, changed_at = now()
where id = %(backfill_id)s and pages = %(pages)s and page_token is not null
