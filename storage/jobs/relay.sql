-- name: publish_due
-- Looks at the queued jobs whose time has come. A scheduled job or a retry is published at once where its queue is open and its
-- org is under its burst; else it joins the backlog, as does a job whose hint was out too long, for its hint may still lie in
-- the broker. A gated one is parked. Jobs are marked published before the hints go out; if those get lost, they come again.
with due as materialized (
  select j.id, j.queue, j.org_id, j.priority, j.run_at, g.gate, j.published_at is null and g.gate is null as fresh,
    exists (select from orgs_over_burst o where o.queue = j.queue and o.org_id = j.org_id)
      or exists (select from orgs_over_burst o where o.queue = j.queue and o.org_id is null) as over_burst
  -- Through an array, which the planner takes for short; a limit that it does not know it takes for a tenth of the table.
  from unnest(array(
    select id from jobs where next_check_at <= now() and state = 'queued'
    order by next_check_at limit %(batch)s for update skip locked
  )) as n (id)
  join jobs j on j.id = n.id
  cross join lateral (
    select case when exists (select from closed_gates)
      then postroom.gate_of(j.org_id, j.job_type, j.queue, j.payload ->> 'account_id') end as gate
  ) as g
),
ranked as (
  select d.*, row_number() over (partition by queue, org_id, fresh order by priority desc, run_at, id) as rank from due d
),
marked as (
  update jobs j set
    published_at = case when r.fresh and not r.over_burst and r.rank <= %(burst)s then now() end,
    next_check_at = case when r.fresh and not r.over_burst and r.rank <= %(burst)s then now() + %(hint_timeout)s::interval end,
    backlog_since = case when r.gate is null and not (r.fresh and not r.over_burst and r.rank <= %(burst)s) then r.run_at end,
    parked_by = r.gate
  from ranked r where j.id = r.id
  returning j.id, j.job_type, j.queue, j.published_at is not null as published
),
newly_over_burst as (
  insert into orgs_over_burst (queue, org_id) select distinct queue, org_id from ranked where fresh and not over_burst and rank > %(burst)s
)
select id, job_type, queue, published from marked
-- The commit does not wait for the disk: a mark that is lost in a crash is made again.
where (select set_config('synchronous_commit', 'off', true)) is not null

-- name: list_backlog
-- Which queues have a backlog, and at which priorities, the highest first.
-- One look into the index for each answer and for the next after it, for each look may pass entries of jobs that have gone.
with recursive levels as (
  select q.queue, first.priority
  -- In a sub-select, for the planner must not see how many queues are given: it would plan each look anew.
  from unnest((select %(queues)s::text[])) as q (queue)
  cross join lateral (
    select j.priority from jobs j where j.queue = q.queue and j.backlog_since is not null order by j.priority desc limit 1
  ) as first
  union all
  select l.queue, next.priority
  from levels l
  cross join lateral (
    select j.priority from jobs j
    where j.queue = l.queue and j.priority < l.priority and j.backlog_since is not null
    order by j.priority desc limit 1
  ) as next
)
select queue, priority from levels order by queue, priority desc

-- name: list_waiting_orgs
-- Orgs that have jobs in the backlog of a queue at one priority, in the order of their ids between two given ones, with
-- their weights. It goes from org to org and never reads an org's jobs, so that a tenant's flood costs no more than one
-- job.
with recursive waiting as (
  (
    select org_id from jobs
    where queue = %(queue)s and priority = %(priority)s and backlog_since is not null
      and org_id between %(start)s and %(last)s
    order by org_id limit 1
  )
  union all
  select n.org_id from waiting w cross join lateral (
    select org_id from jobs
    where queue = %(queue)s and priority = %(priority)s and backlog_since is not null
      and org_id > w.org_id and org_id <= %(last)s
    order by org_id limit 1
  ) as n
)
select w.org_id, o.weight from (select org_id from waiting limit %(most)s) as w join orgs o on o.id = w.org_id order by w.org_id

-- name: count_backlog
-- How many jobs each given org has in the backlog of a queue at one priority, counted up to a bound of its own.
select w.org_id, cardinality(array(
  select id from jobs
  where queue = %(queue)s and priority = %(priority)s and org_id = w.org_id and backlog_since is not null
  order by backlog_since, id limit w.most
)) as jobs
-- Parameters in sub-selects, as in claim_jobs.
from unnest((select %(org_ids)s::uuid[]), (select %(mosts)s::int[])) as w (org_id, most)

-- name: list_parks
-- What holds jobs back, from a given name on, and for how many of its jobs there is room now: none behind a closed gate, as
-- many as there are free slots for a concurrency key. It goes from name to name and never reads the jobs behind one.
with recursive parks as (
  (select parked_by from jobs where parked_by > %(after)s order by parked_by limit 1)
  union all
  select n.parked_by from parks p cross join lateral (
    select parked_by from jobs where parked_by > p.parked_by order by parked_by limit 1
  ) as n
)
select p.parked_by as name,
  case
    when p.parked_by like 'key:%%' then greatest(postroom.serial_limit(substr(p.parked_by, 5))
      - (select count(*) from serial_slots s where s.serial_key = substr(p.parked_by, 5)), 0)::int
    when exists (
      select from closed_gates g where g.scope = split_part(p.parked_by, ':', 2)
        and g.key = substr(p.parked_by, length(split_part(p.parked_by, ':', 2)) + 7)
    ) then 0
    else %(batch)s::int
  end as room
from (select parked_by from parks limit %(most)s) as p

-- name: unpark_jobs
-- Moves jobs that were parked to the backlog, so many of each name, by priority and then by age; one that another gate keeps
-- back is parked by that gate.
with wanted as (
  select * from unnest(%(names)s::text[], %(rooms)s::int[]) as w (name, room)
),
picked as materialized (
  select p.id, p.parked_by, g.gate from wanted w
  -- Through an array, which the planner takes for short; a limit that it does not know it takes for a tenth of the table.
  cross join lateral unnest(array(
    select id from jobs where parked_by = w.name order by priority desc, run_at, id limit w.room for update skip locked
  )) as n (id)
  join jobs p on p.id = n.id
  cross join lateral (
    select case when exists (select from closed_gates)
      then postroom.gate_of(p.org_id, p.job_type, p.queue, p.payload ->> 'account_id') end as gate
  ) as g
)
update jobs j set parked_by = p.gate, backlog_since = case when p.gate is null then j.run_at end
from picked p where j.id = p.id and p.gate is distinct from p.parked_by
returning j.id

-- name: mark_over_burst
-- Marks tenants that stay under their burst in each call and still flood a queue: among the newest jobs of the fleet, more
-- hints of theirs are out than their burst. Ids that are not made from the time are left out.
insert into orgs_over_burst (queue, org_id)
select n.queue, n.org_id
from (
  select queue, org_id, state, published_at from jobs where id <= uuidv7(interval '1 second') order by id desc limit %(newest)s
) as n
where n.queue = %(queue)s and n.state = 'queued' and n.published_at is not null
  and not exists (select from orgs_over_burst o where o.queue = n.queue and o.org_id = n.org_id)
group by n.queue, n.org_id
having count(*) > %(burst)s
returning org_id

-- name: clear_over_burst
-- Lets tenants publish at once again that have no backlog left in a queue, at any of the priorities that its backlog has.
delete from orgs_over_burst o
where o.org_id is not null and not exists (
  select from unnest(%(queues)s::text[], %(priorities)s::int[]) as l (queue, priority)
  -- In the index's order; the planner may answer an EXISTS by a scan of all jobs.
  cross join lateral (
    select from jobs j
    where j.queue = l.queue and j.priority = l.priority and j.org_id = o.org_id and j.backlog_since is not null
    order by j.backlog_since limit 1
  ) as waiting
  where l.queue = o.queue
)

-- name: recall_hints
-- The broker lost its data: every hint that is out must go out again, by way of the backlog; a bounded number at a time. No
-- publisher waits longer than an hour for a hint; the bound keeps jobs that are scheduled for later out of the scan.
update jobs j set published_at = null, next_check_at = null, backlog_since = j.run_at
where j.id = any (array(
  select id from jobs
  where state = 'queued' and published_at is not null and next_check_at > now() and next_check_at <= now() + interval '1 hour'
  order by next_check_at limit %(batch)s for update skip locked
))
returning j.id

-- name: wake_relay
-- Wakes the relay once the transaction has committed.
select pg_notify('postroom_due', '')
