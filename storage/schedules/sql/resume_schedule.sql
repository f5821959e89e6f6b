-- Lets a schedule go on from a due time.
update schedules set enabled = true, stopped = null, next_run_at = %(next_run_at)s where id = %(schedule_id)s
returning id as schedule_id, org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by
