-- Lets tenants publish at once again that have no backlog left in a queue, at any of the priorities that its backlog has.
delete from crowds c
where c.org_id is not null and not exists (
  select from unnest(%(queues)s::text[], %(priorities)s::int[]) as l (queue, priority)
  join jobs j on j.queue = l.queue and j.priority = l.priority and j.org_id = c.org_id and j.backlog_since is not null
  where l.queue = c.queue
)
