-- columns: of_bulk_action
id as bulk_id, org_id, verb, filter, patch, reason, per_minute, state, stopped, needs_another, frozen_at, after_id, next_batch_at, done, skipped,
  most_jobs, actor_type, actor_id, created_at, finished_at

-- name: add_bulk_action
-- Begins a bulk action, or proposes one that another person has to let run.
insert into bulk_actions (org_id, verb, filter, patch, reason, per_minute, needs_another, state, frozen_at, most_jobs, actor_type, actor_id)
values (%(org_id)s, %(verb)s, %(filter)s, %(patch)s, %(reason)s, %(per_minute)s, %(needs_another)s,
  case when %(needs_another)s then 'proposed' else 'running' end, %(frozen_at)s, %(most_jobs)s, %(actor_type)s, %(actor_id)s)
returning id as bulk_id

-- name: find_bulk_action
-- One bulk action, and of how many jobs somebody has locked something.
select columns(of_bulk_action),
  (select count(*) from bulk_action_jobs j where j.bulk_id = b.id and j.state = 'again') as put_off
from bulk_actions b where id = %(bulk_id)s

-- name: list_bulk_actions
-- Bulk actions of an org, or of all, the newest first.
select columns(of_bulk_action),
  (select count(*) from bulk_action_jobs j where j.bulk_id = b.id and j.state = 'again') as put_off
from bulk_actions b
where (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid) and (%(after_bulk_id)s::uuid is null or id < %(after_bulk_id)s::uuid)
order by id desc limit %(limit)s

-- name: move_bulk_action
-- Aborts a bulk action, or lets one run that was proposed or aborted, or whose job has ended.
update bulk_actions set state = %(state)s, stopped = null where id = %(bulk_id)s and state <> 'finished' and (state <> %(state)s or state = 'running')
returning id as bulk_id

-- name: stop_bulk_action
-- Aborts a bulk action that would pass the number of jobs that it was begun for, if it did these too. What has come again is counted once.
update bulk_actions b set state = 'aborted', stopped = format('more jobs match than the %%s that it was begun for', b.most_jobs)
where b.id = %(bulk_id)s and b.state = 'running' and b.most_jobs < b.done + b.skipped
  + (select count(*) from (
      select subject_id from bulk_action_jobs where bulk_id = %(bulk_id)s and state = 'again'
      union
      select unnest(%(subject_ids)s::uuid[])) as left_over)
returning stopped

-- name: find_handled
-- Those of these jobs or letters that a bulk action is through with.
select subject_id from bulk_action_jobs where bulk_id = %(bulk_id)s and subject_id = any (%(subject_ids)s::uuid[]) and state <> 'again'

-- name: record_bulk_jobs
-- Writes what became of jobs, and counts them. A job that comes again is counted when that is decided.
with written as (
  insert into bulk_action_jobs as j (bulk_id, subject_id, org_id, job_id, job_org_id, state, reason, made_job_id)
  select b.id, t.subject_id, b.org_id, t.job_id, t.job_org_id, t.state, t.reason, t.made_job_id
  from bulk_actions b cross join unnest(%(subject_ids)s::uuid[], %(job_ids)s::uuid[], %(job_org_ids)s::uuid[], %(states)s::text[],
    %(reasons)s::text[], %(made_job_ids)s::uuid[]) as t (subject_id, job_id, job_org_id, state, reason, made_job_id)
  where b.id = %(bulk_id)s
  on conflict (bulk_id, subject_id) do update set state = excluded.state, reason = excluded.reason, made_job_id = excluded.made_job_id,
    tries = j.tries + 1
  where j.state = 'again'
  returning j.state
)
update bulk_actions b set
  done = b.done + (select count(*) from written where state = 'done'),
  skipped = b.skipped + (select count(*) from written where state = 'skipped')
where b.id = %(bulk_id)s

-- name: advance_bulk_action
-- Says up to which id a bulk action has come, and when its next batch may begin after one of so many jobs.
update bulk_actions set after_id = %(after_id)s,
  next_batch_at = greatest(next_batch_at, now()) + make_interval(secs => %(jobs)s * 60.0 / per_minute)
where id = %(bulk_id)s

-- name: find_again
-- Jobs that come again after a bulk action was through all others, those first that were tried the least often.
select subject_id, job_id, job_org_id, tries, reason from bulk_action_jobs
where bulk_id = %(bulk_id)s and state = 'again' order by tries, subject_id limit %(limit)s

-- name: rest_bulk_action
-- Lets what somebody has locked rest for a while, and no shorter than the pace says after so many jobs.
update bulk_actions set next_batch_at = now() + greatest(%(pause)s::interval, make_interval(secs => %(jobs)s * 60.0 / per_minute))
where id = %(bulk_id)s

-- name: finish_bulk_action
-- Ends a bulk action that has come to the end, unless somebody has aborted it.
update bulk_actions set state = 'finished', finished_at = now() where id = %(bulk_id)s and state = 'running' returning id

-- name: list_bulk_jobs
-- The jobs of a bulk action that were skipped or come again, by their ids, and why.
select subject_id, job_id, state, reason, tries from bulk_action_jobs
where bulk_id = %(bulk_id)s and state <> 'done' and (%(after_subject_id)s::uuid is null or subject_id > %(after_subject_id)s::uuid)
order by subject_id limit %(limit)s
