-- Deletes finished jobs past their retention, a bounded batch at a time; audit and dead letters stay.
delete from jobs where id in (
  select id from jobs where finished_at < now() - %(keep_for)s::interval limit %(batch)s for update skip locked
)
returning id
