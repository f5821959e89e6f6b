-- Locks a message until the transaction ends: nobody else decides about it, snoozes, wakes or undoes meanwhile.
select from messages where account_id = %(account_id)s and gmail_message_id = %(message_id)s for no key update
