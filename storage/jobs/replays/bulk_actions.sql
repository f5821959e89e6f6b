-- columns: of_bulk_action
id as bulk_id, org_id, verb, filter, patch, reason, per_minute, state, frozen_at, after_id, next_batch_at, done, skipped,
  actor_type, actor_id, created_at, finished_at

-- columns: matched_by_filter
created_at <= %(frozen_at)s and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  and (%(job_types)s::text[] is null or job_type = any (%(job_types)s::text[]))
  and (%(queue)s::text is null or queue = %(queue)s::text)
  and (%(error_code)s::text is null or error ->> 'code' = %(error_code)s::text)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at < coalesce(%(before)s::timestamptz, 'infinity')
  and payload @> %(contains)s

-- columns: looked_at
id, org_id, job_type, queue, state, error, cancel_reason, payload, created_at

-- name: match_jobs
-- Jobs that a filter matches, by their ids, among so many from one id up to another. Those that carry bulk actions out are never meant.
select id as subject_id, id as job_id, org_id as job_org_id, org_id, job_type, state, left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason
from (
  (select columns(looked_at) from jobs where id > %(after_id)s and id < %(upto)s order by id limit %(most)s)
  union all
  -- Clients choose ids at random: a few lie before the ids of that time.
  (select columns(looked_at) from jobs
   where %(passed_id)s::uuid < %(since_id)s::uuid and foreign_at >= %(since)s::timestamptz - interval '1 minute'
     and id > %(passed_id)s and id <= %(since_id)s)
) as looked
where state = any (%(states)s::text[]) and job_type <> 'bulk_actions.run' and columns(matched_by_filter)
order by id limit %(limit)s

-- name: match_letters
-- The same of open dead letters.
select id as subject_id, job_id, org_id as job_org_id, org_id, job_type, 'dead' as state, left(reason, 1000) as reason
from (
  select id, job_id, org_id, job_type, queue, state, error, reason, payload, created_at from dead_letters
  where id > %(after_id)s and id < %(upto)s order by id limit %(most)s
) as looked
where state = 'open' and 'dead' = any (%(states)s::text[]) and columns(matched_by_filter)
order by id limit %(limit)s

-- name: count_jobs
-- How many jobs `match_jobs` would find.
select count(*) as matched
from (
  (select columns(looked_at) from jobs where id > %(after_id)s and id < %(upto)s order by id limit %(most)s)
  union all
  -- Clients choose ids at random: a few lie before the ids of that time.
  (select columns(looked_at) from jobs
   where %(passed_id)s::uuid < %(since_id)s::uuid and foreign_at >= %(since)s::timestamptz - interval '1 minute'
     and id > %(passed_id)s and id <= %(since_id)s)
) as looked
where state = any (%(states)s::text[]) and job_type <> 'bulk_actions.run' and columns(matched_by_filter)

-- name: count_letters
-- How many letters `match_letters` would find.
select count(*) as matched
from (
  select id, job_id, org_id, job_type, queue, state, error, reason, payload, created_at from dead_letters
  where id > %(after_id)s and id < %(upto)s order by id limit %(most)s
) as looked
where state = 'open' and 'dead' = any (%(states)s::text[]) and columns(matched_by_filter)

-- name: reach_of_jobs
-- The last of so many ids of jobs; no row where there are fewer.
select id as reached from jobs where id > %(after_id)s and id < %(upto)s order by id offset %(most)s - 1 limit 1

-- name: reach_of_letters
-- The same of dead letters.
select id as reached from dead_letters where id > %(after_id)s and id < %(upto)s order by id offset %(most)s - 1 limit 1

-- name: add_bulk_action
-- Begins a bulk action.
insert into bulk_actions (org_id, verb, filter, patch, reason, per_minute, frozen_at, actor_type, actor_id)
values (%(org_id)s, %(verb)s, %(filter)s, %(patch)s, %(reason)s, %(per_minute)s, %(frozen_at)s, %(actor_type)s, %(actor_id)s)
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
-- Aborts a bulk action that runs, or lets one run that was aborted or whose job has ended.
update bulk_actions set state = %(state)s where id = %(bulk_id)s and state <> 'finished' and (state <> %(state)s or state = 'running')
returning id as bulk_id

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
select subject_id, job_id, job_org_id, tries from bulk_action_jobs
where bulk_id = %(bulk_id)s and state = 'again' order by tries, subject_id limit %(limit)s

-- name: rest_bulk_action
-- Lets what somebody has locked rest for a while.
update bulk_actions set next_batch_at = now() + %(pause)s::interval where id = %(bulk_id)s

-- name: finish_bulk_action
-- Ends a bulk action that has come to the end, unless somebody has aborted it.
update bulk_actions set state = 'finished', finished_at = now() where id = %(bulk_id)s and state = 'running' returning id

-- name: list_bulk_jobs
-- The jobs of a bulk action that were skipped or come again, by their ids, and why.
select subject_id, job_id, state, reason, tries from bulk_action_jobs
where bulk_id = %(bulk_id)s and state <> 'done' and (%(after_subject_id)s::uuid is null or subject_id > %(after_subject_id)s::uuid)
order by subject_id limit %(limit)s
