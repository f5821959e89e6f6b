-- A push watch was made or renewed. Its history id is deliberately not stored: the cursor may be older.
update accounts set watch_expires_at = %(expires_at)s, watch_renewed_at = now()
where id = %(account_id)s
returning id
