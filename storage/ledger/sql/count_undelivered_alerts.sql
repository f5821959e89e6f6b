-- How many alerts ended lately without having been delivered; counts up to 100.
select count(*) as undelivered
from (
  select from jobs
  where job_type = 'deadletter.send_alert' and state in ('failed', 'dead') and finished_at > now() - %(within)s
  limit 100
) as found
