-- The record of a thread and whether one of its messages is in the inbox; both stay so until the transaction ends.
with message as (
  select 'INBOX' = any (labels) as in_inbox from messages
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s
  for share
),
record as (
  select id as email_id, account_id, gmail_thread_id as thread_id, gmail_message_id as message_id, state, state_changed_at, classification,
         decision_source, confidence, needs_review, draft_token, draft_id, draft_message_id, draft_fingerprint, drafted_at,
         draft_planned_at, draft_history_id, rework_count, sent_message_id, sent_at, by_hand_at, by_service
  from emails
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s
  for update
)
select coalesce((select in_inbox from message), false) as in_inbox, record.* from (values (1)) as one left join record on true
