-- Lets a schedule enqueue nothing; one that was paused before stays so.
update schedules set enabled = false where org_id = %(org_id)s and name = %(name)s
returning id as schedule_id, org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by
