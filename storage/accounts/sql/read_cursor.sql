-- Where the account's history has been read to, and when its mailbox was last looked through as a whole.
select history_id, full_synced_at from accounts where id = %(account_id)s
