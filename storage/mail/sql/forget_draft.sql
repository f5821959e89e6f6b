-- The draft of a finished record is gone, or was never made; its token leads nowhere.
update emails set draft_token = null, draft_id = null, draft_message_id = null, draft_fingerprint = null, drafted_at = null,
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('pending', 'sent', 'archived', 'skipped')
returning id
