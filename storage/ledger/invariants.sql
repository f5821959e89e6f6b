-- name: list_job_events
-- Jobs before an id, the newest first, each with all its events in order. One statement: what is written meanwhile is no contradiction.
select j.id, j.state, j.attempt, j.error ->> 'code' as code, l.events, l.attempts
from (
  select id, state, attempt, error from jobs where id < %(before)s order by id desc limit %(batch)s
) as j
cross join lateral (
  select coalesce(array_agg(event order by id), '{}') as events, coalesce(array_agg(attempt order by id), '{}') as attempts
  from audit_log where job_id = j.id and event like 'job.%%'
) as l
order by j.id desc

-- name: find_wrong_letters
-- Dead jobs without a dead letter, among the newest jobs.
select j.id
from (select id, state from jobs order by id desc limit %(batch)s) as j
where j.state = 'dead' and not exists (select from dead_letters d where d.job_id = j.id)

-- name: find_wrong_guards
-- Guards that say something else of their job than its state does, among the newest jobs. states and words: what a guard says in which
-- state.
select j.id, j.state, k.status
from (select id, org_id, idempotency_key, state, guarded from jobs order by id desc limit %(batch)s) as j
join idempotency_keys k on k.org_id = j.org_id and k.key = j.idempotency_key and k.kind <> 'effect' and k.job_id = j.id
where j.guarded and k.status <> (%(words)s::text[])[array_position(%(states)s::text[], j.state::text)]

-- name: find_wrong_slots
-- Slots of concurrency keys that no job holds rightly, keys with more holders than they have room for, and jobs, among the newest, that
-- are held without a slot.
select wrong from (
  select format('the slot %%s of %%s is held by a job that is %%s', s.slot, s.serial_key, coalesce(j.state::text, 'gone')) as wrong
  from serial_slots s left join jobs j on j.id = s.job_id
  where j.state is null or j.state not in ('claimed', 'running')
  union all
  select format('the slot %%s of %%s is held by a job with the key %%s', s.slot, s.serial_key, coalesce(j.serial_key, 'none'))
  from serial_slots s left join jobs j on j.id = s.job_id
  where j.serial_key is distinct from s.serial_key
  union all
  select format('%%s jobs hold %%s, which has %%s slots', count(*), serial_key, postroom.serial_limit(serial_key))
  from serial_slots group by serial_key
  having count(*) > postroom.serial_limit(serial_key)
  union all
  select format('job %%s is held without a slot of %%s', j.id, j.serial_key)
  from (select id, state, serial_key from jobs order by id desc limit %(batch)s) as j
  where j.state in ('claimed', 'running') and j.serial_key is not null
    and not exists (select from serial_slots s where s.job_id = j.id and s.serial_key = j.serial_key)
) as found
