-- columns: schedule
id as schedule_id, org_id, name, owner_id, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by

-- name: add_schedule
-- Keeps a new schedule; no row when the org has one of that name. A payload that names its schedule gets the new id.
with new as (select uuidv7() as id)
insert into schedules (id, org_id, name, owner_id, job_type, payload, payload_version, cron, zone, missed, next_run_at, created_by)
select n.id, %(org_id)s, %(name)s, %(owner_id)s, %(job_type)s,
  %(payload)s::jsonb || case when %(names_schedule)s then jsonb_build_object('schedule_id', n.id) else '{}' end,
  %(payload_version)s, %(cron)s, %(zone)s, %(missed)s, %(next_run_at)s, %(created_by)s
from new n
on conflict (org_id, name) do nothing
returning columns(schedule)

-- name: list_schedules
-- Schedules by org and name that the transaction may see, after one of them; with the job of the latest due time, as long as its key is kept.
select columns(schedule),
  (select k.job_id from idempotency_keys k where k.org_id = schedules.org_id and k.kind = 'job'
    and k.key = 'schedule:' || schedules.id || ':' || to_char(schedules.last_run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')) as last_job_id,
  (select j.state from idempotency_keys k join jobs j on j.id = k.job_id where k.org_id = schedules.org_id and k.kind = 'job'
    and k.key = 'schedule:' || schedules.id || ':' || to_char(schedules.last_run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')) as last_job_state
from schedules
where (org_id, name) > (coalesce(%(after_org_id)s::uuid, '00000000-0000-0000-0000-000000000000'), coalesce(%(after_name)s::text, ''))
order by org_id, name limit %(limit)s

-- name: get_schedule
-- The schedule of a name.
select columns(schedule) from schedules where org_id = %(org_id)s and name = %(name)s

-- name: remove_schedule
-- Forgets a schedule; its jobs stay.
delete from schedules where org_id = %(org_id)s and name = %(name)s
returning columns(schedule)

-- name: pause_schedule
-- Lets a schedule enqueue nothing; one that was paused before stays so.
update schedules set enabled = false where org_id = %(org_id)s and name = %(name)s
returning columns(schedule)

-- name: resume_schedule
-- Lets a schedule go on from a due time.
update schedules set enabled = true, stopped = null, next_run_at = %(next_run_at)s where id = %(schedule_id)s
returning columns(schedule)

-- name: count_schedules
-- How many schedules an org has.
select count(*) as schedules from schedules where org_id = %(org_id)s

-- name: list_due_schedules
-- Schedules whose time has come: first the one of each org that has been due for longest, from org to org after a given one, then the second
-- of each. So the schedules of one org keep no other org waiting. None while a gate of the whole fleet is closed: no job could run, and what
-- each schedule says of missed times decides afterwards.
select id as schedule_id, org_id from (
  select id, org_id, row_number() over (partition by org_id order by next_run_at, id) as turn
  from schedules where enabled and next_run_at <= now() and org_id <> all (%(besides)s::uuid[])
) as due
where not exists (select from closed_gates where scope = 'fleet')
order by turn, org_id <= %(after)s, org_id limit %(limit)s

-- name: take_due_schedule
-- Locks a schedule that is still due and that nobody else has locked, and says what time it is.
select columns(schedule), now() as now from schedules where id = %(schedule_id)s and enabled and next_run_at <= now() for update skip locked

-- name: move_schedule
-- Moves a schedule on to its next due time; without one it is over.
update schedules set
  last_run_at = coalesce(%(last_run_at)s, last_run_at),
  next_run_at = coalesce(%(next_run_at)s, next_run_at),
  enabled = enabled and %(next_run_at)s::timestamptz is not null,
  stopped = case when %(next_run_at)s::timestamptz is null then 'no due time is left' end
where id = %(schedule_id)s

-- name: stop_schedule
-- Stops a schedule that could not enqueue its job, unless it was changed since it was looked at.
update schedules set enabled = false, stopped = %(reason)s
where id = %(schedule_id)s and enabled and next_run_at = %(next_run_at)s
