-- Another job goes on with the action of a job; nothing when a third one has it.
update actions set job_id = %(to_job)s
where id = %(action_id)s and state = 'executing' and job_id = %(job_id)s
returning id
