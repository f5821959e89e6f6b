-- Deletes finished jobs past their retention, a bounded batch at a time; audit and dead letters stay. A dead job stays with its steps
-- for as long as its letter is open: a replay begins where it stood, and pays for no answer again. A job's output stays while its
-- parent or one of its children has not ended and may read it. An array, so that a plan which does not know how many they will be
-- still looks each up by its id; and subqueries that are asked row by row, for an EXISTS may be answered by a scan of all jobs.
delete from jobs where id = any (array(
  select j.id from jobs j where j.finished_at < now() - %(keep_for)s::interval
    and (j.state <> 'dead' or not exists (select from dead_letters d where d.job_id = j.id and d.state = 'open'))
    and (j.parent_id is null or (select p.id from jobs p where p.id = j.parent_id and p.finished_at is null) is null)
    and (select c.id from jobs c where c.parent_id = j.id and c.finished_at is null limit 1) is null
  limit %(batch)s for update skip locked
))
returning id
