-- name: delete_finished_jobs
-- Looks at the next jobs by the order of their ids, and deletes those past their retention, with their steps; audit and dead letters
-- stay. By ids, and from where the last batch ended: what a batch deletes stays on its pages until they are vacuumed, and a statement
-- that looked for the oldest would read all of it again each time (docs: 2026-11-23-finished-jobs-leave-by-their-ids.md).
-- A dead job stays for as long as its letter is open: a replay begins where it stood, and pays for no answer again. So does a job
-- whose result is still to be sent. A job's output stays while its parent or one of its children has not ended and may read it:
-- subqueries that are asked row by row, for an EXISTS may be answered by a scan of all jobs. A child of another org is one only if its
-- parent is the system org's: anybody may name any id as a parent.
with looked as materialized (
  select j.id, j.created_at, j.finished_at < now() - %(keep_for)s::interval as is_old from jobs j
  where j.id > %(after)s order by j.id limit %(batch)s
),
-- Arrays, so that a plan which does not know how many they will be still looks each up by its id.
gone as (
  delete from jobs where id = any (array(
    select j.id from jobs j
    where j.id = any (array(select l.id from looked l where l.is_old)) and j.finished_at < now() - %(keep_for)s::interval
      and (j.state <> 'dead' or not exists (select from dead_letters d where d.job_id = j.id and d.state = 'open'))
      and (j.parent_id is null or (select p.id from jobs p where p.id = j.parent_id and p.finished_at is null) is null)
      and (select c.id from jobs c where c.parent_id = j.id and c.finished_at is null
             and (c.org_id = j.org_id or j.org_id = '00000000-0000-7000-8000-000000000000') limit 1) is null
      and not (j.result_wanted and exists (select from result_requests r where r.job_id = j.id and r.send_at is not null))
    for update of j skip locked
  ))
  returning id
)
select (select count(*) from gone) as deleted, count(*) as looked, (select id from looked order by id desc limit 1) as last_id,
  coalesce(min(created_at) >= now() - %(keep_for)s::interval, true) as all_young
from looked

-- name: purge_expired_keys
-- Deletes guards past their time; an effect only when none of the jobs that have begun it may go on. A function looks at these jobs, row
-- by row: an EXISTS here may be answered by a scan of all jobs.
with gone as (
  delete from idempotency_keys where (org_id, key, kind) in (
    select org_id, key, kind from idempotency_keys
    where expires_at < now() and not (kind = 'effect' and postroom.is_needed(idempotency_keys))
    order by expires_at limit %(batch)s for update skip locked
  )
  returning org_id, key, kind
),
forgotten as (
  delete from effect_jobs e using gone g where g.kind = 'effect' and e.org_id = g.org_id and e.key = g.key
)
select key from gone

-- name: forget_workers
-- Removes processes that have been silent for so long that no job can be theirs.
delete from workers w where lease_until < now() - interval '1 hour'
  and not exists (select from jobs j where j.next_check_at is not null and j.next_check_at <= now() and j.worker_id = w.id)
