-- Lets another job have the key of a job that has ended.
update idempotency_keys k set expires_at = now()
from jobs j
where j.id = %(job_id)s and j.finished_at is not null and j.guarded
  and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind = 'job'
