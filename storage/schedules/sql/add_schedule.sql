-- Keeps a new schedule; no row when the org has one of that name.
insert into schedules (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, created_by)
values (%(org_id)s, %(name)s, %(job_type)s, %(payload)s, %(payload_version)s, %(cron)s, %(zone)s, %(missed)s, %(next_run_at)s, %(created_by)s)
on conflict (org_id, name) do nothing
returning id as schedule_id, org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by
