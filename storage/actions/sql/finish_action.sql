-- The action of a job is done; nothing when another job has it.
update actions set
  state = 'done', undo_hint = %(undo_hint)s, sent_message_id = coalesce(%(sent_message_id)s, sent_message_id), finished_at = now()
where id = %(action_id)s and state = 'executing' and job_id = %(job_id)s
returning id
