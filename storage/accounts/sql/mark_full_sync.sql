-- The mailbox was looked through as a whole, as it stood at a time.
update accounts set full_synced_at = greatest(full_synced_at, %(at)s)
where id = %(account_id)s
returning id
