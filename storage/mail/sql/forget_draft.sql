-- The draft of a finished record is gone, and its token leads nowhere.
update emails set draft_token = null, draft_id = null, draft_message_id = null, draft_fingerprint = null, drafted_at = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('sent', 'archived', 'skipped')
returning id
