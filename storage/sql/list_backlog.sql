-- Which queues have a backlog, and at which priorities, the highest first: one look into the index for each answer.
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
select queue, priority from levels where priority is not null order by queue, priority desc
