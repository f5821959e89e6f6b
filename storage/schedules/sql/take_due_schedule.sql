-- Locks the schedule that has been due for longest and that nobody else has locked, and says what time it is.
select id as schedule_id, org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by, now() as now
from schedules where enabled and next_run_at <= now()
order by next_run_at, id limit 1 for update skip locked
