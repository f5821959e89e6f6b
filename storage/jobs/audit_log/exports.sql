-- name: find_export_end
-- The last of the next entries before the first that is not older than a time; null when there is none. An entry gets its number before
-- its commit, so a later number may have an earlier time: what is older than the time and comes after that entry waits for the next file.
select max(id) as upto from audit_entries
where id > %(after)s and id <= %(upto)s
  and id < coalesce((select min(id) from audit_entries where id > %(after)s and id <= %(upto)s and at >= %(before)s), 9223372036854775807)

-- name: open_export
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

-- name: list_exports
-- Exports of the audit log, the newest first, and how much of each has been deleted.
select after_id, upto_id, begun_at, exported_at, events, sha256, newest_at, deleted, emptied_at
from audit_exports order by upto_id desc limit %(limit)s

-- name: measure_audit_export
-- Since when the audit log keeps what no file has: the newest entry that one has, or the first of the table before any export, which
-- nothing was deleted from. And whether entries that are older than `keep_for` wait to be counted before they may go.
select
  coalesce((select max(newest_at) from audit_exports where exported_at is not null), (select at from audit_entries limit 1)) as since,
  exists (select from audit_exports where exported_at is not null) as is_exported,
  exists (
    select from audit_exports x, counting c
    where x.exported_at is not null and x.emptied_at is null and x.upto_id > c.counted_to
      and x.newest_at < now() - %(keep_for)s::interval - interval '1 hour'
  ) as is_uncounted
