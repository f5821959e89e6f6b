-- One stored message.
select gmail_message_id as message_id, gmail_thread_id as thread_id, direction, received_at, labels as label_ids, subject, body, document,
       automation_kind, automation_weight, automation_evidence
from messages
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and deleted_at is null
