-- Deletes guards past their time. An effect that is in doubt is kept until somebody has found out.
delete from idempotency_keys where (org_id, key) in (
  select org_id, key from idempotency_keys
  where expires_at < now() and not (kind = 'effect' and status in ('running', 'unknown'))
  order by expires_at limit %(batch)s for update skip locked
)
returning key
