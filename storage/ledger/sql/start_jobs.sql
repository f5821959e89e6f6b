-- Writes when claimed jobs began. One that has ended meanwhile, lost its claim, or is locked by a transaction of its own
-- handler is passed over: nobody may wait here for a handler.
with begun as (
  select * from unnest(%(job_ids)s::uuid[], %(tokens)s::uuid[], %(started_ats)s::timestamptz[]) as b (id, token, at)
),
free as (
  select j.id, b.at from jobs j join begun b on b.id = j.id
  where j.claim_token = b.token and j.state = 'claimed'
  for no key update of j skip locked
),
started as (
  update jobs j set state = 'running', attempt = j.attempt + 1, started_at = f.at
  from free f where j.id = f.id
  returning j.*
)
insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
  worker_id, claimed_at, data)
select started_at, 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
  worker_id, claimed_at, null
from started
