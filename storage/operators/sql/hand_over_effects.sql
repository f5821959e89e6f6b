-- A job that does another again is answerable for the effects that this one has begun: they are kept as long as it may rely on them.
with named as (
  update idempotency_keys set job_id = %(target)s
  where job_id = %(source)s and kind = 'effect'
  returning key
),
beside as (
  update effect_jobs set job_id = %(target)s
  where job_id = %(source)s
  returning key
)
select key from named
union all
select key from beside
