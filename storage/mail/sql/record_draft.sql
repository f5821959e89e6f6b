-- The draft was made, or made anew for a rework, which is counted.
update emails set
  state = 'drafted', state_changed_at = now(), rework_count = rework_count + case when state = 'rework_requested' then 1 else 0 end,
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_fingerprint = %(fingerprint)s, drafted_at = now(),
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s and state in ('pending', 'rework_requested')
returning rework_count
