-- name: lock_job_to_retry
-- A job that somebody wants to have done again, held until the transaction ends, and the job that was made of it before.
select j.id as job_id, j.org_id, j.project_id, j.job_type, j.state, j.priority, j.payload, j.payload_version, j.idempotency_key,
  j.guarded, j.retry_base_s, j.retry_cap_s, j.parent_id, j.correlation_id, j.traceparent, j.created_at,
  (select a.data ->> 'replay_job_id' from audit_log a where a.job_id = j.id and a.event = 'job.replayed' limit 1) as replay_job_id
from jobs j
where j.id = %(job_id)s and (%(org_id)s::uuid is null or j.org_id = %(org_id)s::uuid)
for update of j

-- name: release_ended_job
-- Lets another job have the key of a job that has ended.
update idempotency_keys k set expires_at = now()
from jobs j
where j.id = %(job_id)s and j.finished_at is not null and j.guarded
  and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind = 'job'
