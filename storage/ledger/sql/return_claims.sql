-- Gives claims back, all of a node that stops, or those of tokens whose claims nobody heard the answer of: no attempt is
-- spent, no loss counted.
with returned as (
  update jobs j set
    state = 'queued', attempt = greatest(j.attempt - case j.state when 'running' then 1 else 0 end, 0),
    claim_token = null, worker_id = null, claimed_at = null, published_at = null,
    attention_at = null, backlog_since = run_at
  where (j.worker_id = any (select id from workers where node_id = %(node_id)s::uuid) or j.claim_token = any (%(tokens)s::uuid[]))
    and j.attention_at <= now() + %(lease)s::interval + interval '2 seconds'
    and j.state in ('claimed', 'running')
  returning j.*, old.state as was, old.worker_id as by_worker, old.claimed_at as taken_at
),
guards as (
  update idempotency_keys k set status = 'pending', last_seen_at = now() from returned r
  where r.guarded and k.org_id = r.org_id and k.key = r.idempotency_key and k.job_id = r.id
),
told as (
  insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    worker_id, claimed_at, data)
  select taken_at, 'job.claimed', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    by_worker, null::timestamptz, null::jsonb
  from returned where was = 'claimed'
  union all
  select clock_timestamp(), 'job.retried', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    null, null, jsonb_build_object('cause', %(cause)s::text)
  from returned
),
gone as (delete from workers where node_id = %(node_id)s::uuid)
select 'returned' as what, id, job_type, queue, org_id, state, false as light from returned
union all
select 'woken', w.job_id, w.job_type, w.queue, null, 'queued', w.light
from (select array_agg(id) as ids from returned where serial_key is not null) as held
cross join lateral postroom.free_slots(held.ids) as w
