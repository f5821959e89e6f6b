-- Jobs before an id, the newest first, each with all its events in order. One statement: what is written meanwhile is no contradiction.
select j.id, j.state, j.attempt, j.error ->> 'code' as code, l.events, l.attempts
from (
  select id, state, attempt, error from jobs where id < %(before)s order by id desc limit %(batch)s
) as j
cross join lateral (
  select coalesce(array_agg(event order by id), '{}') as events, coalesce(array_agg(attempt order by id), '{}') as attempts
  from audit_log where job_id = j.id and event like 'job.%%'
) as l
order by j.id desc
