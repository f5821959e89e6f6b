-- Deletes guards past their time; an effect only when none of the jobs that have begun it may go on. A function looks at these jobs, row
-- by row: an EXISTS here may be answered by a scan of all jobs.
with gone as (
  delete from idempotency_keys where (org_id, key, kind) in (
    select org_id, key, kind from idempotency_keys
    where expires_at < now() and not (kind = 'effect' and postroom.is_needed(idempotency_keys))
    order by expires_at limit %(batch)s for update skip locked
  )
  returning org_id, key, kind
),
forgotten as (
  delete from effect_jobs e using gone g where g.kind = 'effect' and e.org_id = g.org_id and e.key = g.key
)
select key from gone
