-- A draft was made after its record had been settled. By the clock: the transaction may have begun before the move.
update emails set
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_fingerprint = %(fingerprint)s, drafted_at = clock_timestamp(),
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('archived', 'skipped') and draft_token is not null
  and draft_id is null
returning id
