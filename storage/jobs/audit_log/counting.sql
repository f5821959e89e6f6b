-- name: hold_counting
-- Takes or renews the right to count, when it is one's own or its holder has been silent for so long; returns how far the log is
-- counted. Somebody who has it locked is counting.
update counting c set holder = %(holder)s, held_at = clock_timestamp()
from (
  select only_row from counting
  where holder = %(holder)s or held_at is null or held_at < clock_timestamp() - %(silent_for)s::interval
  for update skip locked
) as free
where c.only_row = free.only_row
returning c.counted_to

-- name: release_counting
-- Lets another process count at once.
update counting set holder = null, held_at = null where holder = %(holder)s

-- name: read_end_of_log
-- The newest number that was given out, and a time: what gets a larger number is written later.
select case when is_called then last_value else 0 end as entry, clock_timestamp() as at from audit_entries_id_seq

-- name: list_audit_writers
-- The transactions that may have written audit entries and have not ended: each holds this lock until then, and took it before
-- its first entry got a number.
select distinct virtualtransaction as transaction from pg_locks
where locktype = 'relation' and relation = 'public.audit_entries'::regclass and mode = 'RowExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())

-- name: count_events
-- What happened to jobs between two places of the audit log, in groups of the whole fleet by the minute, and of each org by the hour: how
-- many events, how many of them tell a start as well (`starts`), how long the attempts that ended had run, and what their jobs cost. `bucket`
-- is the place of the seconds among the bounds; null without a start. A job that died is told by job.deadlettered; `told` says that a
-- job.failed tells the same end.
select coalesce(minute, hour) as since, org_id, event, job_type, queue, attempt, label, told, bucket,
  count(*) as events, count(*) filter (where tells_start) as starts, coalesce(sum(greatest(seconds, 0)) filter (where seconds is not null), 0) as seconds,
  coalesce(sum(microcents), 0)::bigint as microcents
from (
  select minute, hour, org_id, event, job_type, queue, attempt, label, told, tells_start, seconds,
    width_bucket(seconds, (select %(bounds)s::float8[])) as bucket,
    -- Not read for the many job types that cost nothing.
    case when costs and ends and not told and event <> 'job.retried'
      then (select j.cost_microcents from jobs j where j.id = measured.job_id) end as microcents
  from (
    select job_id, minute, hour, org_id, event, job_type, queue, attempt, label, told, tells_start, costs, ends,
      date_part('epoch', at - case
        when not ends or told then null
        when tells_start then began_at
        -- The start has an entry of its own, the job's newest; without one nothing had begun that ends here.
        else (
          select case when p.event = 'job.started' then p.at end from audit_entries p
          where p.job_id = e.job_id and p.id < e.id and p.event in ('job.started', 'job.claimed', 'job.retried', 'job.enqueued')
          order by p.id desc limit 1)
        end) as seconds
    from (
      select a.id, a.event, a.org_id, t.name as job_type, t.queue, a.attempt, a.job_id, a.at, a.began_at, a.began_at is not null as tells_start,
        date_bin('1 minute', a.at, timestamptz 'epoch') as minute, date_bin('1 hour', a.at, timestamptz 'epoch') as hour,
        a.event in ('job.succeeded', 'job.retried', 'job.failed', 'job.canceled', 'job.deadlettered') as ends, cardinality(t.providers) > 0 as costs,
        case
          when a.event in ('job.failed', 'job.deadlettered') then coalesce(a.data -> 'error' ->> 'code', 'unknown')
          when a.event = 'job.retried' then coalesce(a.data ->> 'cause', 'unknown')
          when a.event = 'job.canceled'
            then coalesce(a.data ->> 'cause', case when a.data ->> 'reason' = 'expired' then 'expired' end, 'canceled')
        end as label,
        case when a.event = 'job.deadlettered' then postroom.failure_is_told(a.job_id, a.attempt, a.id) else false end as told
      from audit_entries a left join job_types t on t.name = a.job_type
      where a.id > %(after)s and a.id <= %(upto)s
        -- An org that has come from another cell was counted there until then.
        and not exists (select from org_moves m where m.org_id = a.org_id and a.at <= m.counted_before)
      offset 0  -- keeps PostgreSQL from working out a value above more than once
    ) as e
    offset 0
  ) as measured
  offset 0
) as grouped
group by grouping sets ((minute, event, job_type, queue, attempt, label, told, bucket), (hour, org_id, event, job_type, told))

-- name: list_failures
-- The jobs that failed or died between two places of the audit log, those of one type, error and release together: how many, when, and
-- the newest of them. The release is that of the worker, which an attempt's start names.
select coalesce(t.name, 'unknown') as job_type, coalesce(a.data -> 'error' ->> 'code', 'unknown') as code,
  left(coalesce(a.data -> 'error' ->> 'reason', ''), %(longest)s) as reason,
  nullif(w.version, '') as release,
  count(*) as failures, min(a.at) as first_seen, max(a.at) as last_seen,
  (array_agg(a.job_id order by a.id desc))[:20] as job_ids
from audit_entries a left join job_types t on t.name = a.job_type
left join lateral (
  select b.worker_id from audit_entries b
  where b.job_id = a.job_id and b.attempt = a.attempt and b.worker_id is not null order by b.id desc limit 1
) as ran on true
left join workers w on w.id = ran.worker_id
where a.id > %(after)s and a.id <= %(upto)s and a.job_id is not null
  and not exists (select from org_moves m where m.org_id = a.org_id and a.at <= m.counted_before)
  and (a.event = 'job.failed' or (a.event = 'job.deadlettered' and not postroom.failure_is_told(a.job_id, a.attempt, a.id)))
group by 1, 2, 3, 4

-- name: add_totals
-- Adds to the totals of the metrics, and says how far the audit log is counted now; with `counted_at`, that every entry before is.
with added as (
  insert into job_totals as t (metric, job_type, queue, label, total)
  select * from unnest(%(metrics)s::text[], %(job_types)s::text[], %(queues)s::text[], %(labels)s::text[], %(totals)s::float8[])
  on conflict (metric, job_type, queue, label) do update set total = t.total + excluded.total
)
update counting set counted_to = %(upto)s, counted_at = coalesce(%(counted_at)s::timestamptz, counted_at)

-- name: read_counted_at
-- Before which time every event is counted.
select counted_at from counting

-- name: measure_queues
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

-- name: measure_ledger
-- What else an operator watches, as a number per kind: worker commands with a lease, closed gates by scope, open dead letters, messages
-- that were refused within the hour, and the unsettled effects of jobs that are held or whose dead letter is open; at most so many jobs and letters are looked at.
select 'workers' as what, '' as kind, count(*) as number from workers where lease_until > now()
union all
select 'gates', scope, count(distinct key) from closed_gates group by scope
union all
select 'dead_letters', '', count(*) from (select from dead_letters where state = 'open' order by created_at limit %(most)s) as letters
union all
select 'refused', '', count(*) from (select from refused_messages where at > now() - interval '1 hour' limit %(most)s) as refused
union all
select 'effects', k.status, count(*)
from (
  (select job_id from dead_letters where state = 'open' order by created_at limit %(most)s)
  union
  (select id from (
    select id, state from jobs where next_check_at <= now() + interval '1 hour' order by next_check_at limit %(most)s
  ) as next where state in ('claimed', 'running'))
) as j (job_id)
join idempotency_keys k on k.job_id = j.job_id and k.kind = 'effect' and k.status in ('running', 'unknown', 'failed')
group by k.status
