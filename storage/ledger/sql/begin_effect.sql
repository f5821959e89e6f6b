-- Commits the intent to act on the outside world, under the caller's claim. Returns what stood there before: nothing (act),
-- a result (done before), or another attempt's unfinished intent (find out first). An intent whose own claim is still alive
-- belongs to somebody at work: busy.
with claim as (
  select j.id, j.org_id from jobs j where j.id = %(job_id)s and j.claim_token = %(token)s and j.state in ('claimed', 'running') for share
),
intent as (
  insert into idempotency_keys as k (org_id, key, kind, mode, status, job_id, owner_token, expires_at)
  select c.org_id, %(key)s, 'effect', %(strategy)s, 'running', c.id, %(token)s, now() + %(keep_for)s::interval from claim c
  on conflict (org_id, key) do update set
    last_seen_at = now(),
    status = case when k.status = 'failed' then 'running' else k.status end,
    owner_token = case
      when k.status in ('failed') or (k.status = 'running' and not exists (
        select from jobs o where o.id = k.job_id and o.claim_token = k.owner_token and o.id <> excluded.job_id))
      then excluded.owner_token else k.owner_token end,
    job_id = case
      when k.status in ('failed') or (k.status = 'running' and not exists (
        select from jobs o where o.id = k.job_id and o.claim_token = k.owner_token and o.id <> excluded.job_id))
      then excluded.job_id else k.job_id end
  returning old.status as old_status, new.status as new_status, new.owner_token, new.job_id, new.result_ref, new.kind
)
select
  case
    when i.kind <> 'effect' then 'taken'
    when i.old_status is null or i.old_status = 'failed' then 'act'
    when i.new_status = 'succeeded' then 'done'
    -- Jobs that were claimed together have the same token: it names a claim only with its job.
    when i.new_status = 'running' and i.owner_token = %(token)s and i.job_id = %(job_id)s then 'find_out'
    when i.new_status = 'running' then 'busy'
    else 'unknown'
  end as what,
  i.result_ref as result
from intent i
