-- What happened in an org besides the moves of its jobs, the newest first, before an event's number.
select id, at, event, actor_type, actor_id, job_type, job_id, attempt, correlation_id, data
from audit_entries
where org_id = %(org_id)s and event not like 'job.%%' and (%(before)s::bigint is null or id < %(before)s::bigint)
order by id desc limit %(limit)s
