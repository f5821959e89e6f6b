-- Stops a schedule that could not enqueue its job, unless it was changed since it was looked at.
update schedules set enabled = false, stopped = %(reason)s
where id = %(schedule_id)s and enabled and next_run_at = %(next_run_at)s
