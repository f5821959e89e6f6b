-- Messages that are gone from the mailbox for good.
update messages set deleted_at = now()
where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[]) and deleted_at is null
returning gmail_message_id
