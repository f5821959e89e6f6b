-- name: list_descendants
-- The unfinished descendants of jobs, by their distance: parents before their children. It begins with jobs that are unfinished or canceled:
-- one that ended otherwise has handed its children over. Below that it goes through jobs that have ended. Those that know of a
-- cancellation already are left out. A job of another org is a child only if its parent is the system org's, whose jobs fan out.
with recursive family as (
  select j.id, j.org_id, 0 as level from jobs j
  where j.id = any (%(job_ids)s::uuid[]) and (j.finished_at is null or j.state = 'canceled')
    and (%(org_id)s::uuid is null or j.org_id = %(org_id)s::uuid)
  union
  select c.id, c.org_id, f.level + 1 from family f
  join jobs c on c.parent_id = f.id and (c.org_id = f.org_id or f.org_id = %(system_org)s)
  where f.level < %(levels)s
)
select f.id from family f join jobs j on j.id = f.id
where f.level > 0 and j.finished_at is null and (j.state = 'queued' or j.cancel_requested_at is null)
order by f.level, f.id limit %(most)s
