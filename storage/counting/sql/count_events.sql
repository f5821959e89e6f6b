-- What happened to jobs between two places of the audit log, in groups: how many events, how many of them tell a start as well
-- (`starts`), how long the attempts that ended had run, and what their jobs cost. `bucket` is the place of the seconds among the
-- bounds; null without a start. A job that died is told by job.deadlettered; `told` says that a job.failed tells the same end.
select event, job_type, queue, attempt, label, told, width_bucket(seconds, (select %(bounds)s::float8[])) as bucket,
  count(*) as events, count(*) filter (where tells_start) as starts, coalesce(sum(greatest(seconds, 0)) filter (where seconds is not null), 0) as seconds,
  coalesce(sum(microcents), 0)::bigint as microcents
from (
  select event, job_type, queue, attempt, label, told, tells_start,
    date_part('epoch', at - case
      when not ends or told then null
      when tells_start then began_at
      -- The start has an entry of its own, the job's newest; without one nothing had begun that ends here.
      else (
        select case when p.event = 'job.started' then p.at end from audit_entries p
        where p.job_id = e.job_id and p.id < e.id and p.event in ('job.started', 'job.claimed', 'job.retried', 'job.enqueued')
        order by p.id desc limit 1)
      end) as seconds,
    -- Not read for the many job types that cost nothing.
    case when costs and ends and not told and event <> 'job.retried'
      then (select j.cost_microcents from jobs j where j.id = e.job_id) end as microcents
  from (
    select a.id, a.event, t.name as job_type, t.queue, a.attempt, a.job_id, a.at, a.began_at, a.began_at is not null as tells_start,
      a.event in ('job.succeeded', 'job.retried', 'job.failed', 'job.canceled', 'job.deadlettered') as ends, cardinality(t.providers) > 0 as costs,
      case
        when a.event in ('job.failed', 'job.deadlettered') then coalesce(a.data -> 'error' ->> 'code', 'unknown')
        when a.event = 'job.retried' then coalesce(a.data ->> 'cause', 'unknown')
        when a.event = 'job.canceled'
          then coalesce(a.data ->> 'cause', case when a.data ->> 'reason' = 'expired' then 'expired' end, 'canceled')
      end as label,
      case when a.event = 'job.deadlettered' then exists (
        select from audit_entries f where f.job_id = a.job_id and f.event = 'job.failed' and f.attempt = a.attempt and f.id < a.id)
      else false end as told
    from audit_entries a left join job_types t on t.name = a.job_type
    where a.id > %(after)s and a.id <= %(upto)s
    offset 0  -- keeps PostgreSQL from working out a value above more than once
  ) as e
  offset 0
) as measured
group by event, job_type, queue, attempt, label, told, bucket
