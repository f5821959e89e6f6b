-- Deletes guards past their time. An effect is kept while it is in doubt, and while the job that it names is unfinished or has an open
-- dead letter: its next attempt or replay must not cause it again.
delete from idempotency_keys where (org_id, key, kind) in (
  select org_id, key, kind from idempotency_keys
  where expires_at < now() and not (kind = 'effect' and (
    status in ('running', 'unknown')
    or exists (select from jobs j where j.id = job_id and j.finished_at is null)
    or exists (select from dead_letters d where d.job_id = idempotency_keys.job_id and d.state = 'open')))
  order by expires_at limit %(batch)s for update skip locked
)
returning key
