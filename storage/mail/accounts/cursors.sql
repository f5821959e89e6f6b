-- name: read_cursor
-- Where the account's history has been read to, and when its mailbox was last looked through as a whole.
select history_id, full_synced_at from accounts where id = %(account_id)s

-- name: advance_cursor
-- Moves the cursor forward, never back; compared as numbers.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id < %(history_id)s
returning id

-- name: set_first_cursor
-- Where history begins for an account that has no cursor yet.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id is null
returning id

-- name: replace_cursor
-- Begins a history that does not know the stored id, which is later than any of its own; nothing when the cursor has moved meanwhile.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id = %(unknown)s and history_id > %(history_id)s
returning id

-- name: mark_full_sync
-- The mailbox was looked through as a whole, as it stood at a time; what had no decision of these models was ordered.
update accounts set full_synced_at = greatest(full_synced_at, %(at)s), full_sync_asked = %(asked)s
where id = %(account_id)s
returning id
