-- Deletes guards past their time. An effect is kept while it is in doubt, and while the job that it names may go on: one that has not
-- succeeded and whose row is there, or that has an open dead letter. Its next attempt, retry or replay must not cause it again.
-- The look at the job is a subquery that is asked row by row, for an EXISTS may be answered by a scan of all jobs.
delete from idempotency_keys where (org_id, key, kind) in (
  select org_id, key, kind from idempotency_keys
  where expires_at < now() and not (kind = 'effect' and (
    status in ('running', 'unknown')
    or (select j.id from jobs j where j.id = idempotency_keys.job_id and j.state <> 'succeeded') is not null
    or exists (select from dead_letters d where d.job_id = idempotency_keys.job_id and d.state = 'open')))
  order by expires_at limit %(batch)s for update skip locked
)
returning key
