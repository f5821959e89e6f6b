-- A job that does another again is answerable for that one's effects: they are kept as long as it may rely on them.
update idempotency_keys set job_id = %(target)s
where job_id = %(source)s and kind = 'effect'
returning key
