-- What will take an action back, as far as it is known before the action is executed: it outlives the attempt and the job.
update actions set undo_hint = %(undo_hint)s
where id = %(action_id)s and state = 'executing' and job_id = %(job_id)s
returning id
