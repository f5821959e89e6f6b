-- Counts what a batch has done.
update backfills set handled = handled + %(handled)s, stored = stored + %(stored)s, changed_at = now() where id = %(backfill_id)s
