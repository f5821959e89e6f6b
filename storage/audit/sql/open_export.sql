-- Opens the events of a range of entries for reading in pages, in their order, each as a line of JSON. A cursor, because the whole range
-- is sorted once. Of entries that no file has yet; nobody deletes them.
declare exported_events no scroll cursor for
select row_to_json(l)::text as line, l.at
from (
  select id, at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, worker_id,
    claimed_at, parent_id, replay_of, data
  from audit_log where id > %(after)s and id <= %(upto)s
  order by id
) as l
