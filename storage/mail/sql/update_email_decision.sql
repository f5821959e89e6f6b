-- Writes a newer decision, and the message that was classified, into a record that is still pending.
update emails set gmail_message_id = %(message_id)s, classification = %(classification)s, decision_source = %(source)s,
  confidence = %(confidence)s, needs_review = %(needs_review)s
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id
