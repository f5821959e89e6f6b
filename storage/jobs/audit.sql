-- name: append_event
-- Appends an event that a held job's type lists, with the job's own context.
select postroom.append_event(%(job_id)s, %(token)s, %(event)s, %(data)s)

-- name: append_audit
-- Appends one event to the audit log; one about a job is of the job's project.
insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
values (%(event)s, %(org_id)s, coalesce(%(project_id)s::uuid, (select j.project_id from jobs j where j.id = %(job_id)s)), %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(job_id)s,
        %(job_type)s, %(attempt)s, %(data)s)

-- name: append_audits
-- Appends one event about each of several jobs.
insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, data)
select %(event)s, t.org_id, (select j.project_id from jobs j where j.id = t.job_id), %(actor_type)s, %(actor_id)s, %(request_id)s,
  %(correlation_id)s, t.job_id, t.job_type, t.data
from unnest(%(job_ids)s::uuid[], %(job_types)s::text[], %(org_ids)s::uuid[], %(data)s::jsonb[]) as t (job_id, job_type, org_id, data)
