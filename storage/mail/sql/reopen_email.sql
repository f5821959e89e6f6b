-- A finished thread wants an answer again: its life begins anew, with the message that reopened it.
-- The token of a draft that nobody recorded stays, or the next draft would be made beside it.
update emails set state = 'pending', state_changed_at = now(), gmail_message_id = %(message_id)s,
  draft_token = case when state <> 'sent' and draft_id is null then draft_token end, draft_id = null,
  draft_planned_at = case when state <> 'sent' and draft_id is null then draft_planned_at end,
  draft_history_id = case when state <> 'sent' and draft_id is null then draft_history_id end,
  draft_message_id = null, draft_fingerprint = null, drafted_at = null, rework_count = 0, sent_message_id = null, sent_at = null,
  by_hand_at = null, by_service = false
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
returning id
