-- The latest messages of a thread, oldest first.
select * from (
  select gmail_message_id as message_id, gmail_thread_id as thread_id, direction, received_at, labels as label_ids, subject, body, document,
       automation_kind, automation_weight, automation_evidence
  from messages
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and deleted_at is null
  order by received_at desc, gmail_message_id desc
  limit %(limit)s
) as latest
order by received_at, message_id
