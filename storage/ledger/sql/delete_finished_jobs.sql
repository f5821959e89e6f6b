-- Deletes finished jobs past their retention, a bounded batch at a time; audit and dead letters stay. An array, so that a plan
-- which does not know how many they will be still looks each up by its id.
delete from jobs where id = any (array(
  select id from jobs where finished_at < now() - %(keep_for)s::interval limit %(batch)s for update skip locked
))
returning id
