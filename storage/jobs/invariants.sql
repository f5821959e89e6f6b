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

-- name: find_standing_runs
-- Runs, among the newest that go on, that have nothing to wait for: neither the job that begins them nor an advance that is due or at work,
-- no node at work or waiting, and no run inside them. And runs of which a time nobody would see: of a wait, of work, or the run's own. What is over already may be looked at
-- again after a moment.
select format('run %%s of %%s stands still: it waits for nothing', r.id, r.workflow) as wrong
from (select id, org_id, project_id, workflow, timer_job from workflow_runs where state = 'running' order by id desc limit %(batch)s) as r
cross join (select t as of_type from job_types t where t.name = 'workflows.advance') as a
where not exists (
    select from idempotency_keys k join jobs j on j.id = k.job_id
    where k.org_id = r.org_id and k.kind = 'job' and j.finished_at is null
      and k.key = postroom.unique_key(a.of_type, r.org_id, r.project_id, jsonb_build_object('run_id', r.id)))
  and not exists (select from jobs j where j.id = r.id and j.finished_at is null)
  -- The advance that comes by time is at work, or should be.
  and not exists (select from jobs j where j.id = r.timer_job and j.finished_at is null and (j.state <> 'queued' or j.run_at <= now()))
  and not exists (
    select from workflow_nodes n left join jobs j on j.id = n.job_id left join workflow_runs c on c.id = n.child_run
    where n.run_id = r.id and (
      n.state = 'waiting' or n.state = 'running' and (
        j.finished_at is null and j.id is not null or c.state = 'running'
        -- An end that a hook has not heard of, and will.
        or exists (
          select from job_waiters w join job_waiters u on u.org_id = w.org_id and u.hook = w.hook and u.facts is not null
          join jobs h on h.parent_id = u.job_id and h.job_type = 'maintenance.run_end_hook' and h.finished_at is null
          where w.job_id = n.job_id and w.org_id = n.org_id and w.facts is not null))))
union all
select format('run %%s of %%s has no advance for the time %%s', r.id, r.workflow, n.due)
from (
  select id, org_id, project_id, workflow, timer_job, timer_at, case when num_nonnulls(failure, cancel_requested_at) = 0 then deadline_at end as deadline_at
  from workflow_runs where state = 'running' order by id desc limit %(batch)s
) as r
cross join (select t as of_type from job_types t where t.name = 'workflows.advance') as a
cross join lateral (
  select least(min(n.wait_until), r.deadline_at) as due from workflow_nodes n
  where n.run_id = r.id and n.wait_until is not null and n.finished_at is null) as n
where n.due is not null
  and not (r.timer_at <= greatest(n.due, now() + interval '1 minute')
    and exists (select from jobs j where j.id = r.timer_job and j.finished_at is null))
  and not exists (
    select from idempotency_keys k join jobs j on j.id = k.job_id
    where k.org_id = r.org_id and k.kind = 'job' and j.finished_at is null
      and k.key = postroom.unique_key(a.of_type, r.org_id, r.project_id, jsonb_build_object('run_id', r.id)))
