-- The thread of a record, of a record's draft, or of a message, also of one that was deleted.
select gmail_thread_id as thread_id from emails where account_id = %(account_id)s and id = %(email_id)s
union all
select gmail_thread_id from emails where account_id = %(account_id)s and draft_message_id = %(message_id)s
union all
select gmail_thread_id from messages where account_id = %(account_id)s and gmail_message_id = %(message_id)s
limit 1
