-- Schedules by org and name, of one org or all that the transaction may see.
select id as schedule_id, org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, last_run_at, enabled, stopped,
  created_at, created_by
from schedules where %(org_id)s::uuid is null or org_id = %(org_id)s
order by org_id, name
