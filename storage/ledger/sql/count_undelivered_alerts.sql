-- How many alerts could not be delivered: those that died, until their letter is closed, and those that were refused for good lately.
-- Lately only: an index leads to a time, and none to a job type. Counts up to 100.
select count(*) as undelivered
from (
  (select from dead_letters where state = 'open' and job_type = 'deadletter.send_alert' limit 100)
  union all
  (select from jobs where state = 'failed' and job_type = 'deadletter.send_alert' and finished_at > now() - %(within)s limit 100)
  limit 100
) as found
