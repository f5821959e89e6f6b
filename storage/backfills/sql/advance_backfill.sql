-- Goes on to the next page, unless another attempt has done so from the same one.
update backfills set
  page_token = %(page_token)s, state = %(state)s, next_page_at = %(next_page_at)s, pages = pages + 1, found = found + %(found)s,
  ordered = ordered + %(ordered)s, changed_at = now()
where id = %(backfill_id)s and pages = %(pages)s and state = 'listing'
returning id
