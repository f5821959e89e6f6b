-- columns: sums
  sum(enqueued)::bigint as enqueued, sum(started)::bigint as started, sum(retried)::bigint as retried, sum(succeeded)::bigint as succeeded,
  sum(failed)::bigint as failed, sum(dead)::bigint as dead, sum(canceled)::bigint as canceled, sum(lost)::bigint as lost,
  coalesce(sum(seconds), 0) as seconds,
  array[sum(histogram[1]), sum(histogram[2]), sum(histogram[3]), sum(histogram[4]), sum(histogram[5]), sum(histogram[6]), sum(histogram[7]),
    sum(histogram[8]), sum(histogram[9]), sum(histogram[10]), sum(histogram[11]), sum(histogram[12]), sum(histogram[13]), sum(histogram[14]),
    sum(histogram[15]), sum(histogram[16]), sum(histogram[17])]::integer[] as histogram,
  sum(microcents)::bigint as microcents

-- columns: added
  enqueued = t.enqueued + excluded.enqueued, started = t.started + excluded.started, retried = t.retried + excluded.retried,
  succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed, dead = t.dead + excluded.dead,
  canceled = t.canceled + excluded.canceled, lost = t.lost + excluded.lost, seconds = t.seconds + excluded.seconds,
  histogram = array(select a + b from unnest(t.histogram, excluded.histogram) with ordinality as u (a, b, place) order by place),
  microcents = t.microcents + excluded.microcents

-- name: add_job_minutes
-- Adds to the history of the fleet, to the row of each span.
insert into job_minutes as t (
  minute, span, job_type, queue, enqueued, started, retried, succeeded, failed, dead, canceled, lost, seconds, histogram, microcents)
select date_bin(make_interval(mins => span), since, timestamptz 'epoch'), span, job_type, queue, columns(sums)
from jsonb_to_recordset(%(rows)s) as r (since timestamptz, job_type text, queue text, enqueued bigint, started bigint, retried bigint,
  succeeded bigint, failed bigint, dead bigint, canceled bigint, lost bigint, seconds float8, histogram integer[], microcents bigint)
cross join unnest(%(spans)s::integer[]) as s (span)
group by 1, 2, 3, 4
on conflict (job_type, span, minute, queue) do update set columns(added)

-- name: add_org_hours
-- Adds to the history of orgs.
insert into org_hours as t (hour, org_id, job_type, enqueued, succeeded, failed, dead, canceled, seconds, microcents)
select since, org_id, job_type, enqueued, succeeded, failed, dead, canceled, seconds, microcents
from jsonb_to_recordset(%(rows)s) as r (since timestamptz, org_id uuid, job_type text, enqueued bigint, succeeded bigint, failed bigint,
  dead bigint, canceled bigint, seconds float8, microcents bigint)
on conflict (org_id, hour, job_type) do update set
  enqueued = t.enqueued + excluded.enqueued, succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
  dead = t.dead + excluded.dead, canceled = t.canceled + excluded.canceled, seconds = t.seconds + excluded.seconds,
  microcents = t.microcents + excluded.microcents

-- name: add_queue_samples
-- Keeps what was measured now, where it is more than what the row of a span has.
insert into queue_samples as t (minute, span, queue, due, backlog, published, parked, held, oldest_due_s, slots)
select date_bin(make_interval(mins => span), %(at)s, timestamptz 'epoch'), span, queue, due, backlog, published, parked, held, oldest_due_s,
  (select coalesce(sum(w.slots), 0) from workers w where w.lease_until > %(at)s and r.queue = any (w.queues))
from jsonb_to_recordset(%(rows)s) as r (queue text, due integer, backlog integer, published integer, parked integer, held integer,
  oldest_due_s float8)
cross join unnest(%(spans)s::integer[]) as s (span)
on conflict (span, minute, queue) do update set columns(most)

-- columns: most
  due = greatest(t.due, excluded.due), backlog = greatest(t.backlog, excluded.backlog), published = greatest(t.published, excluded.published),
  parked = greatest(t.parked, excluded.parked), held = greatest(t.held, excluded.held), oldest_due_s = greatest(t.oldest_due_s, excluded.oldest_due_s),
  slots = greatest(t.slots, excluded.slots)

-- name: list_job_history
-- What happened to jobs in each step of a range, where nothing did too.
select s.at, coalesce(h.enqueued, 0) as enqueued, coalesce(h.started, 0) as started, coalesce(h.retried, 0) as retried,
  coalesce(h.succeeded, 0) as succeeded, coalesce(h.failed, 0) as failed, coalesce(h.dead, 0) as dead, coalesce(h.canceled, 0) as canceled,
  coalesce(h.lost, 0) as lost, coalesce(h.seconds, 0) as seconds, coalesce(h.histogram, '{}') as histogram, coalesce(h.microcents, 0) as microcents
from generate_series(%(since)s, %(before)s::timestamptz - interval '1 microsecond', %(step)s) as s (at)
left join (
  select minute as at, columns(sums)
  from job_minutes
  where span = %(span)s and minute >= %(since)s and minute < %(before)s
    and (%(job_types)s::text[] is null or job_type = any (%(job_types)s::text[]))
    and (%(queues)s::text[] is null or queue = any (%(queues)s::text[]))
  group by 1
) as h on h.at = s.at
order by s.at

-- name: list_job_history_of_org
-- The same of the jobs of an org.
select s.at, coalesce(h.enqueued, 0) as enqueued, coalesce(h.succeeded, 0) as succeeded, coalesce(h.failed, 0) as failed,
  coalesce(h.dead, 0) as dead, coalesce(h.canceled, 0) as canceled, coalesce(h.seconds, 0) as seconds, coalesce(h.microcents, 0) as microcents
from generate_series(%(since)s, %(before)s::timestamptz - interval '1 microsecond', %(step)s) as s (at)
left join (
  select date_bin(%(step)s, hour, %(since)s) as at, sum(enqueued)::bigint as enqueued, sum(succeeded)::bigint as succeeded,
    sum(failed)::bigint as failed, sum(dead)::bigint as dead, sum(canceled)::bigint as canceled, sum(seconds) as seconds,
    sum(microcents)::bigint as microcents
  from org_hours
  where org_id = %(org_id)s and hour >= %(since)s and hour < %(before)s
    and (%(job_types)s::text[] is null or job_type = any (%(job_types)s::text[]))
  group by 1
) as h on h.at = s.at
order by s.at

-- name: list_queue_history
-- What waited in each queue in the steps of a range in which it was measured.
select minute as at, queue, due, backlog, published, parked, held, oldest_due_s, slots
from queue_samples
where queue = any (%(queues)s::text[]) and span = %(span)s and minute >= %(since)s and minute < %(before)s
order by 1, 2

-- name: list_queue_depths
-- The newest measurement of each queue: all are measured at once.
select minute as at, queue, due, backlog, published, parked, held, oldest_due_s, slots
from queue_samples
where span = 1 and minute = (select max(minute) from queue_samples where span = 1) and queue = any (%(queues)s::text[])
order by array_position(%(queues)s::text[], queue)

-- name: list_org_hours
-- What orgs' jobs did and cost in an hour, by their type, the newest first.
select hour, org_id, job_type, enqueued, succeeded, failed, dead, canceled, seconds, microcents from org_hours
where (%(of_org)s::uuid is null or org_id = %(of_org)s::uuid) and hour >= %(since)s and hour < %(before)s
  and (%(of_type)s::text is null or job_type = %(of_type)s::text)
  and (hour, org_id, job_type) < (coalesce(%(after_hour)s::timestamptz, 'infinity'),
    coalesce(%(after_org_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), coalesce(%(after_job_type)s::text, ''))
order by hour desc, org_id desc, job_type desc limit %(limit)s

-- name: sum_org_hours
-- What jobs did and cost in a range, by org, by type or by day: the dearest first, the days from the newest on. Of more hours than `most` the
-- newest are summed; `reached` says back to which.
with looked as materialized (
  select * from org_hours
  where (%(of_org)s::uuid is null or org_id = %(of_org)s::uuid) and hour >= %(since)s and hour < %(before)s
  order by hour desc limit %(most)s
)
select case when %(by)s::text = 'org' then org_id end as org_id, case when %(by)s::text = 'type' then job_type end as job_type,
  case when %(by)s::text = 'day' then date_trunc('day', hour, 'UTC') end as day, sum(enqueued)::bigint as enqueued,
  sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed, sum(seconds) as seconds, sum(microcents)::bigint as microcents,
  case when (select count(*) from looked) = %(most)s then (select min(hour) from looked) end as reached
from looked
group by 1, 2, 3 order by day desc, sum(microcents) desc, sum(seconds) desc, org_id, job_type limit %(limit)s

-- name: list_job_zones
-- In which spans of time jobs of a type were enqueued, or of the tenant's org.
select starts, ends from postroom.job_zones(%(of_type)s, %(before)s, %(minutes_since)s, %(tens_since)s, %(most)s)
