-- Locks messages until the transaction ends: nobody else decides about them, snoozes, wakes or undoes meanwhile. In the order of their ids,
-- so that two transactions wait and do not deadlock.
select from messages
where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[])
order by gmail_message_id
for no key update
