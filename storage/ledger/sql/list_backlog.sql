-- Which queues have a backlog, at which priorities, the highest first, and of which kinds: ordinary jobs, light ones, or both.
-- One look into the index for each answer and for the next after it, for each look may pass entries of jobs that have gone.
with recursive classes as (
  select q.queue, first.priority, first.light
  from unnest(%(queues)s::text[]) as q (queue)
  cross join lateral (
    select j.priority, j.light from jobs j where j.queue = q.queue and j.backlog_since is not null order by j.priority desc, j.light limit 1
  ) as first
  union all
  select l.queue, next.priority, next.light
  from classes l
  cross join lateral (
    select * from (
      select j.priority, j.light from jobs j
      where not l.light and j.queue = l.queue and j.priority = l.priority and j.light and j.backlog_since is not null
      order by j.priority desc, j.light limit 1
    ) as light
    union all
    select * from (
      select j.priority, j.light from jobs j
      where j.queue = l.queue and j.priority < l.priority and j.backlog_since is not null
      order by j.priority desc, j.light limit 1
    ) as lower
    order by priority desc, light limit 1
  ) as next
)
select queue, priority, light from classes order by queue, priority desc, light
