-- Adds jobs that are due in the coming days, each with its audit event.
with made as (
  insert into jobs (id, org_id, job_type, queue, state, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
                    request_id, correlation_id, max_attempts, deadline, run_at, next_check_at)
  select uuidv7(), %(org)s, %(job_type)s::text, 'default', 'queued', '{}', 1, %(job_type)s::text || ':scheduled:' || n, false,
         'system', 'postroom', 'request-' || n, 'request-' || n, 5, interval '5 minutes', at, at
  from (select n, now() + interval '1 day' + %(span)s::interval * (n / %(total)s::float8) as at
        from generate_series(%(start)s + 1, %(start)s + %(rows)s) as n) as moments
  returning *
)
insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
select 'job.enqueued', org_id, actor_type, actor_id, request_id, correlation_id, id, job_type, 0, '{}' from made
