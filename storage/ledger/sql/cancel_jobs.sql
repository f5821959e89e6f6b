-- Asks for jobs to be canceled. A queued job is canceled at once; a held one sees the request at its next step, effect or model call.
-- Returns the new state of each job that had not ended.
with asked as (
  select id from jobs where id = any (%(job_ids)s::uuid[]) and finished_at is null
    and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  order by id for update
),
requested as (
  update jobs j set
    cancel_requested_at = coalesce(j.cancel_requested_at, now()), cancel_reason = coalesce(j.cancel_reason, %(reason)s)
  from asked a where j.id = a.id and j.finished_at is null
  returning j.*
),
ended as materialized (
  select l.what from (
    select array_agg(id) as ids, array_agg(cancel_reason) as reasons, count(*)::int as jobs
    from requested where state = 'queued' having count(*) > 0
  ) as q
  cross join lateral postroom.leave_claims(q.ids, '{}',
    states => array_fill('canceled'::text, array[q.jobs]), reasons => q.reasons,
    details => array_fill(jsonb_build_object('reason', %(reason)s::text), array[q.jobs]),
    by_actor_type => %(actor_type)s, by_actor_id => %(actor_id)s, besides => %(job_ids)s::uuid[]) as l
),
audited as (
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  select 'job.cancel_requested', org_id, project_id, %(actor_type)s, %(actor_id)s, request_id, correlation_id, id, job_type, attempt,
    jsonb_build_object('reason', %(reason)s::text)
  from requested where state <> 'queued'
)
select id, case state when 'queued' then 'canceled' else state end as state
from requested cross join (select count(*) from ended) as all_ended
