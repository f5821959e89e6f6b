-- name: record_refusal
-- Keeps a refusal, and the message's content while the day has kept neither too many contents nor too many bytes of them.
insert into refused_messages (task, task_id, field, reason, sealed_content)
select left(%(task)s, 200), left(%(task_id)s, 200), left(%(field)s, 200), left(%(reason)s, 2000),
  case when kept.contents < %(most_contents)s and kept.bytes + octet_length(%(content)s) <= %(most_bytes)s then %(content)s end
from (
  select count(*) as contents, coalesce(sum(octet_length(sealed_content)), 0) as bytes
  from refused_messages
  where sealed_content is not null and at > now() - interval '1 day'
) as kept
returning id


-- name: insert_dead_on_arrival
-- Inserts a job of an unknown job type as dead, with its dead letter: the job is kept, and no worker runs it. A message that
-- was sent twice is one job, by its idempotency key.
with guard as (
  insert into idempotency_keys (org_id, key, kind, mode, status, job_id, expires_at)
  select %(org_id)s, %(key)s, 'named', 'for_ttl', 'dead', %(id)s, now() + interval '30 days'
  from (select postroom.require_orgs(array[%(org_id)s::uuid])) as required
  where not exists (select from job_types where name = %(job_type)s or %(job_type)s = any (aliases))
    and not exists (select from jobs where id = %(id)s and (org_id <> %(org_id)s or job_type <> %(job_type)s))
  on conflict do nothing
  returning job_id
),
inserted as (
  insert into jobs (id, org_id, project_id, job_type, queue, state, payload, payload_version, idempotency_key, guarded, actor_type,
                    actor_id, request_id, correlation_id, traceparent, max_attempts, deadline, finished_at, next_check_at, error)
  select job_id, %(org_id)s, %(project_id)s, %(job_type)s, 'deadletter', 'dead', %(payload)s, %(payload_version)s, %(key)s, true,
         %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(traceparent)s, 1, '1 minute', now(), null,
         jsonb_build_object('code', 'unknown_type', 'reason', 'job_type: no worker knows ' || %(job_type)s::text)
  from guard
  on conflict (id) do nothing
  returning *
),
audited as (
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt)
  select 'job.enqueued', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, 0
  from inserted
)
select id from inserted
