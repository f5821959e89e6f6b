-- The open dead letters per job type and window since a time, of the newest so many: in a storm the numbers are lower bounds.
-- The limit comes first, so that a storm's letters are not all read each minute.
with newest as (
  select id, job_type, created_at, error ->> 'code' as code from dead_letters
  where state = 'open' and created_at >= %(since)s order by created_at desc limit %(most)s
)
select job_type, date_bin(%(length)s, created_at, 'epoch') as since, count(*) as letters,
       (array_agg(id order by created_at, id))[1] as first_id, (array_agg(code order by created_at, id))[1] as first_code
from newest group by job_type, date_bin(%(length)s, created_at, 'epoch') order by since, job_type
