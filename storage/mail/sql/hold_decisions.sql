-- Locks a message until the transaction ends, so that no other decision about it is recorded meanwhile.
select from messages where account_id = %(account_id)s and gmail_message_id = %(message_id)s for no key update
