-- The mail has left; Gmail gave the sent message an id of its own.
update outgoing_mails set
  sent_message_id = %(sent_message_id)s, sent_thread_id = %(sent_thread_id)s, sent_at = coalesce(sent_at, now())
where account_id = %(account_id)s and action_id = %(action_id)s
returning action_id
