-- name: lock_lost_claims
-- Locks the claims that are lost, and says what is known of each: the claims of processes whose lease has ended, and of attempts past
-- their deadline. Other claims that are due for a check get their next one
-- when their lease or deadline could end; one whose guard somebody has locked gets it soon.
with due as materialized (
  select id from jobs where next_check_at <= now() and state in ('claimed', 'running')
  order by next_check_at limit %(batch)s for update skip locked
),
overdue as (
  select j.id, j.claim_token, j.state, j.attempt, j.max_attempts, j.losses, j.free_returns, j.suspect, j.cancel_requested_at, j.cancel_reason,
    least(w.lease_until, j.claimed_at + j.deadline) as lost_at, w.lease_until > now() as is_alive, f.id is not null as is_free
  -- PostgreSQL estimates a limit with a parameter as a tenth of the table, but an array as short.
  from unnest(array(select id from due)) as n (id)
  join jobs j on j.id = n.id
  left join postroom.lock_free(array(select id from due)) as f (id) on f.id = j.id
  left join workers w on w.id = j.worker_id
  for update of j  -- reads the rows as they were when they were locked, not as they were when the statement began
),
kept as (
  update jobs j set next_check_at = case when o.is_alive and o.lost_at > now() then o.lost_at else now() end + interval '1 second'
  from overdue o where j.id = o.id and (not o.is_free or (o.is_alive and o.lost_at > now()))
)
select id as job_id, claim_token as token, attempt, max_attempts, losses, free_returns as returns, state = 'running' as began,
  suspect as alone,  -- a suspect runs alone in its worker
  case when is_alive then 'deadline' else 'lost' end as cause,
  case when cancel_requested_at is not null then coalesce(cancel_reason, 'canceled') end as cancel_reason
from overdue where is_free and (is_alive is not true or lost_at <= now())

-- name: list_expired
-- Expired jobs that are parked and that nobody has locked: no claim will find them. Bounded, the longest expired first.
select id from jobs where parked_by is not null and expires_at <= now() order by expires_at limit %(most)s for update skip locked

-- name: return_claims
-- Gives claims back: all of a node that stops, or those of tokens whose claims nobody heard the answer of; of some jobs alone, where they
-- are given. No attempt is spent and no loss is counted. Returns the jobs that went back, those that somebody else has locked, and those that waited for a concurrency key.
with wanted as materialized (
  select id from jobs
  where (worker_id = any (select id from workers where node_id = %(node_id)s::uuid) or claim_token = any (%(tokens)s::uuid[]))
    and (%(job_ids)s::uuid[] is null or id = any (%(job_ids)s::uuid[]))
    and next_check_at <= now() + %(lease)s::interval + interval '2 seconds'
    and state in ('claimed', 'running')
),
held as materialized (
  select j.id, j.claim_token, j.suspect from postroom.lock_free(array(select id from wanted)) as f (id)
  join jobs j on j.id = f.id
  where j.state in ('claimed', 'running')
  order by j.id for no key update of j  -- reads the rows as they were when they were locked
),
left_claims as materialized (
  select l.* from (select array_agg(id) as ids, array_agg(claim_token) as tokens, array_agg(suspect) as suspects, count(*)::int as jobs from held having count(*) > 0) as h
  cross join lateral postroom.leave_claims(h.ids, h.tokens,
    states => array_fill('queued'::text, array[h.jobs]), attempt_deltas => array_fill(-1::smallint, array[h.jobs]),
    details => array_fill(jsonb_build_object('cause', %(cause)s::text), array[h.jobs]), suspects => h.suspects) as l
),
gone as (delete from workers where node_id = %(node_id)s::uuid and not exists (select from wanted where id not in (select id from held)))
select 'returned' as what, id, null as job_type, null as queue from held
union all
select 'locked', id, null, null from wanted where id not in (select id from held)
union all
select what, job_id as id, job_type, queue from left_claims

-- name: lock_claims
-- Locks those of these jobs that are claimed and that nobody else has locked.
select j.id as job_id, j.claim_token as token
from postroom.lock_free(%(job_ids)s::uuid[]) as f (id) join jobs j on j.id = f.id
where j.state in ('claimed', 'running')
for no key update of j  -- reads the rows as they were when they were locked
