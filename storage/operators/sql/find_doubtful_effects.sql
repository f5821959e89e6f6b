-- The effects of a job of which nobody knows whether they happened.
select key from idempotency_keys
where org_id = %(org_id)s and job_id = %(job_id)s and kind = 'effect' and status = 'unknown'
order by key
for update
