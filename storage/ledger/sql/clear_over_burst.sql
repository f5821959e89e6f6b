-- Lets tenants publish at once again that have no backlog left in a queue, at any of the priorities that its backlog has.
delete from orgs_over_burst o
where o.org_id is not null and not exists (
  select from unnest(%(queues)s::text[], %(priorities)s::int[]) as l (queue, priority)
  cross join (values (false), (true)) as k (light)
  -- In the index's order; the planner may answer an EXISTS by a scan of all jobs.
  cross join lateral (
    select from jobs j
    where j.queue = l.queue and j.priority = l.priority and j.light = k.light and j.org_id = o.org_id and j.backlog_since is not null
    order by j.backlog_since limit 1
  ) as waiting
  where l.queue = o.queue
)
