-- name: count_dead_letters
-- The open dead letters per job type and window since a time, of the newest so many: in a storm the numbers are lower bounds.
-- The limit comes first, so that a storm's letters are not all read each minute.
with newest as (
  select id, job_type, created_at, error ->> 'code' as code from dead_letters
  where state = 'open' and created_at >= %(since)s order by created_at desc limit %(most)s
)
select job_type, date_bin(%(length)s, created_at, 'epoch') as since, count(*) as letters,
       (array_agg(id order by created_at, id))[1] as first_id, (array_agg(code order by created_at, id))[1] as first_code
from newest group by job_type, date_bin(%(length)s, created_at, 'epoch') order by since, job_type

-- name: list_first_refusals
-- The first refused message of each window since a time.
select distinct on (1) date_bin(%(length)s, at, 'epoch') as since, id from refused_messages where at >= %(since)s order by 1, id

-- name: list_parked_providers
-- The providers that refuse all calls, and until when; not those that a person paused.
select key as provider, reason, closed_at, until from gates
where scope = 'provider' and cause = 'slow_down' and until > now() order by key

-- name: count_undelivered_alerts
-- How many alerts could not be delivered: those that died, until their letter is closed, and those that were refused for good lately.
-- Lately only: an index leads to a time, and none to a job type. Counts up to 100.
select count(*) as undelivered
from (
  (select from dead_letters where state = 'open' and job_type = 'deadletter.send_alert' limit 100)
  union all
  (select from jobs where state = 'failed' and job_type = 'deadletter.send_alert' and finished_at > now() - %(within)s limit 100)
  limit 100
) as found
