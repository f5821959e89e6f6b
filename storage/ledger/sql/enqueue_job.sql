-- One job, or no new one when its key is taken: postroom.enqueue_job answers with the job that has it.
select e.job_id, e.job_type, e.queue, e.light, e.created, e.publish
from postroom.enqueue_job(%(job_type)s, %(org_id)s, %(payload)s, %(payload_version)s, %(checked)s, %(job_id)s, %(project_id)s,
  %(idempotency_key)s, %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(traceparent)s, %(parent_id)s, %(replay_of)s,
  %(priority)s, %(run_at)s, %(expires_at)s, %(max_attempts)s, %(created_at)s, %(publisher)s, %(hint_timeout)s,
  %(retry_base_s)s, %(retry_cap_s)s, %(folds)s) as e
