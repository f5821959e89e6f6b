-- A job that does another again is answerable for the effects that this one has begun: they are kept as long as it may rely on them.
-- `hand_over_shared_effects` follows, in a statement of its own: this one may wait for a key that names another job then.
update idempotency_keys set job_id = %(target)s
where job_id = %(source)s and kind = 'effect'
returning key
