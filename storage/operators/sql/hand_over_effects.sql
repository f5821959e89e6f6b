-- A replay or retry is answerable for the effects of the job that it repeats: they are kept as long as it may rely on them.
update idempotency_keys set job_id = %(target)s
where job_id = %(source)s and kind = 'effect'
returning key
