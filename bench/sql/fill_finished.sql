-- Adds jobs that succeeded in the last days, each with its audit log, every tenth with a guard.
with made as (
  insert into jobs (id, org_id, job_type, queue, state, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
                    request_id, correlation_id, attempt, max_attempts, deadline, created_at, run_at, started_at, finished_at, output)
  select uuidv7(at - now()), %(org)s, %(job_type)s::text, 'default', 'succeeded', '{}', 1, %(job_type)s::text || ':' || n, n %% 10 = 0,
         'system', 'postroom', 'request-' || n, 'request-' || n, 1, 5, interval '5 minutes', at, at,
         at + interval '20 milliseconds', at + interval '60 milliseconds', '{}'
  from (select n, now() - %(span)s::interval * (1 - n / %(total)s::float8) - interval '1 hour' as at
        from generate_series(%(start)s + 1, %(start)s + %(rows)s) as n) as moments
  returning *
),
guards as (
  insert into idempotency_keys (org_id, key, kind, mode, status, job_id, first_seen_at, last_seen_at, expires_at, result_ref)
  select org_id, idempotency_key, 'job', 'for_ttl', 'succeeded', id, created_at, finished_at, created_at + interval '30 days',
         jsonb_build_object('job_id', id)
  from made where guarded
)
insert into audit_entries (at, event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
select case e.event when 'job.enqueued' then created_at when 'job.started' then started_at else finished_at end,
       e.event, org_id, actor_type, actor_id, request_id, correlation_id, id, job_type, e.attempt, '{}'
from made cross join (values ('job.enqueued', 0), ('job.started', 1), ('job.succeeded', 1)) as e (event, attempt)
order by made.created_at, e.event = 'job.succeeded', e.attempt
