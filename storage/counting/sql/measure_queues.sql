-- How many jobs wait or are held in each queue, and since when the oldest has been due; at most so many are looked at of a kind.
-- `due` is for the relay to publish, `published` waits for a worker, `backlog` for its turn, `parked` for a gate or key, and `held` is
-- claimed or running. A job that is scheduled for later is not counted. In the order of an index each, or finished jobs would be read too.
select q.queue, 'backlog' as state, b.jobs, b.since
from unnest(%(queues)s::text[]) as q (queue)
cross join lateral (
  select count(*) as jobs, min(backlog_since) as since
  from (select backlog_since from jobs where queue = q.queue and backlog_since is not null
    order by priority desc limit %(most)s) as first
) as b
where b.jobs > 0
union all
select n.queue::text, n.kind, count(*), min(n.run_at) filter (where n.kind <> 'held')
from (
  select queue, run_at,
    case when state <> 'queued' then 'held' when published_at is not null then 'published' when run_at <= now() then 'due' end as kind
  from (
    select queue, state, run_at, published_at from jobs
    where next_check_at <= now() + interval '1 hour' order by next_check_at limit %(most)s
  ) as next
) as n
where n.kind is not null
group by n.queue, n.kind
union all
select p.queue::text, 'parked', count(*), null
from (select queue from jobs where parked_by is not null order by parked_by limit %(most)s) as p
group by p.queue
