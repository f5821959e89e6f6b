-- The record whose draft consists of this message now.
select id as email_id, account_id, gmail_thread_id as thread_id, gmail_message_id as message_id, state, state_changed_at, classification,
       decision_source, confidence, needs_review, draft_token, draft_id, draft_message_id, draft_fingerprint, drafted_at,
       draft_planned_at, draft_history_id, rework_count, sent_message_id, sent_at, by_hand_at, by_service
from emails
where account_id = %(account_id)s and draft_message_id = %(message_id)s
