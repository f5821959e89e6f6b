-- A decision about a record that is still waiting; the newest message is what it is about.
update emails set gmail_message_id = %(message_id)s, classification = %(classification)s, decision_source = %(source)s,
  confidence = %(confidence)s, needs_review = %(needs_review)s
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id
