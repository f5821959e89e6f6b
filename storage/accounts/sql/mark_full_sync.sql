-- The mailbox was looked through as a whole, as it stood at a time; what had no decision of these models was ordered.
update accounts set full_synced_at = greatest(full_synced_at, %(at)s), full_sync_asked = %(asked)s
where id = %(account_id)s
returning id
