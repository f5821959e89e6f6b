-- Lets another job have the key of a dead one, and returns what its replay inherits.
with freed as (
  update idempotency_keys k set expires_at = now()
  from jobs j
  where j.id = %(job_id)s and j.state = 'dead' and j.guarded
    and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind = 'job'
)
select project_id, priority, parent_id, idempotency_key, guarded, retry_base_s, retry_cap_s, correlation_id, traceparent, created_at
from jobs where id = %(job_id)s and state = 'dead'
