-- Which queues have a backlog, at which priorities, the highest first, and of which kinds: ordinary jobs, light ones, or both.
-- One look into the index for each answer.
with recursive levels as (
  select q.queue, (
    select j.priority from jobs j where j.queue = q.queue and j.backlog_since is not null order by j.priority desc limit 1
  ) as priority
  from unnest(%(queues)s::text[]) as q (queue)
  union all
  select l.queue, (
    select j.priority from jobs j where j.queue = l.queue and j.backlog_since is not null and j.priority < l.priority
    order by j.priority desc limit 1
  )
  from levels l where l.priority is not null
)
select l.queue, l.priority, k.light
from levels l
-- The first and the last in the index's order; an EXISTS may be answered by a scan of all jobs.
cross join lateral (
  select j.light from jobs j where j.queue = l.queue and j.priority = l.priority and j.backlog_since is not null order by j.light limit 1
) as first
cross join lateral (
  select j.light from jobs j where j.queue = l.queue and j.priority = l.priority and j.backlog_since is not null
  order by j.light desc limit 1
) as last
cross join lateral (select first.light union select last.light) as k
where l.priority is not null
order by l.queue, l.priority desc, k.light
