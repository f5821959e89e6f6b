-- The person sent the draft; Gmail gave the sent message an id of its own.
update emails set state = 'sent', state_changed_at = now(), sent_message_id = %(sent_message_id)s, sent_at = %(sent_at)s
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
returning id
