-- columns: event
id, at, event, org_id, actor_type, actor_id, job_type, job_id, attempt, correlation_id,
  case when event = 'run_sheet.changed' then data - '{before,after}'::text[] else data end as data

-- columns: whole_event
id, at, event, org_id, actor_type, actor_id, job_type, job_id, attempt, correlation_id, data

-- name: list_events_of_correlation
-- All events of the jobs that one request caused, and what happened besides, in order. A job that came without a correlation's name is
-- its own: root_id. In lists, the documents before and after a change are left out: details say what differs. The index has one entry for each job with a name, so its events are found by the job
-- (docs: 2026-11-24-the-audit-log-leaves-by-exports.md).
with named as materialized (
  select id, job_id from audit_entries
  where correlation_id = %(correlation_id)s and (job_id is null or (event = 'job.enqueued' and correlation_id <> job_id::text))
)
select columns(event) from (
  select columns(whole_event) from audit_log
  where job_id = any (array(select n.job_id from named n where n.job_id is not null union select %(root_id)s::uuid))
  union all
  select columns(whole_event) from audit_entries where correlation_id = %(correlation_id)s and job_id is null
) as found
where id > %(after)s
order by id limit %(limit)s

-- name: list_other_events_of_org
-- What people did in the tenant's org, and what happened besides the moves of jobs, the newest first, before an event's number.
select columns(event) from audit_entries where (event not like 'job.%%' or event = 'job.replayed') and id < %(before)s
order by id desc limit %(limit)s

-- name: list_named_events_of_org
-- Of these, or of the deaths of jobs, those of one name.
select columns(event) from audit_entries
where org_id = %(org_id)s and event = %(event)s and (event not like 'job.%%' or event in ('job.replayed', 'job.deadlettered'))
  and id < %(before)s
order by id desc limit %(limit)s

-- name: list_other_events
-- The same of all orgs: `id > 0` names their index.
select columns(event) from audit_entries
where id > 0 and (event not like 'job.%%' or event = 'job.replayed') and id < %(before)s
order by id desc limit %(limit)s

-- name: find_other_event_of_org
-- One of these events, with all that it says.
select columns(whole_event) from audit_entries
where (event not like 'job.%%' or event = 'job.replayed') and org_id = %(org_id)s and id = %(event_id)s

-- name: find_other_event
-- The same of all orgs.
select columns(whole_event) from audit_entries
where id > 0 and (event not like 'job.%%' or event = 'job.replayed') and id = %(event_id)s
