-- The draft was made, and is about to be sent.
update outgoing_mails set
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_thread_id = %(draft_thread_id)s,
  send_began_at = coalesce(send_began_at, now())
where account_id = %(account_id)s and action_id = %(action_id)s
returning action_id
