-- Deletes finished jobs past their retention, a bounded batch at a time; audit and dead letters stay. A dead job stays with its steps
-- for as long as its letter is open: a replay begins where it stood, and pays for no answer again. An array, so that a plan
-- which does not know how many they will be still looks each up by its id.
delete from jobs where id = any (array(
  select j.id from jobs j where j.finished_at < now() - %(keep_for)s::interval
    and (j.state <> 'dead' or not exists (select from dead_letters d where d.job_id = j.id and d.state = 'open'))
  limit %(batch)s for update skip locked
))
returning id
