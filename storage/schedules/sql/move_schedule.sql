-- Moves a schedule on to its next due time; without one it is over.
update schedules set
  last_run_at = coalesce(%(last_run_at)s, last_run_at),
  next_run_at = coalesce(%(next_run_at)s, next_run_at),
  enabled = enabled and %(next_run_at)s::timestamptz is not null,
  stopped = case when %(next_run_at)s::timestamptz is null then 'no due time is left' end
where id = %(schedule_id)s
