-- Publishes the oldest ordinary jobs of each given org from the backlog of a queue at one priority, so many of each as its quota says,
-- in the order in which they shall travel: the orgs take turns by weight. What a gate keeps back is parked instead.
with wanted as (
  select * from unnest(%(org_ids)s::uuid[], %(quotas)s::int[], %(weights)s::int[]) as w (org_id, quota, weight)
),
picked as materialized (
  select n.id, g.gate, (n.place - 1) / w.weight as round
  from wanted w
  -- The planner takes a limit that it does not know for a tenth of the table, and would read all of it; an array it takes for short.
  cross join lateral unnest(array(
    select id from jobs
    where queue = %(queue)s and priority = %(priority)s and not light and org_id = w.org_id and backlog_since is not null
    order by backlog_since, id limit w.quota for update skip locked
  )) with ordinality as n (id, place)
  join jobs j on j.id = n.id
  cross join lateral (
    select case when exists (select from gates)
      then postroom.gate_of(j.org_id, j.job_type, j.queue, j.payload ->> 'account_id') end as gate
  ) as g
),
marked as (
  update jobs j set
    backlog_since = null, parked_by = p.gate,
    published_at = case when p.gate is null then now() end,
    next_check_at = case when p.gate is null then now() + %(hint_timeout)s::interval end
  from picked p where j.id = p.id
  returning j.id, j.job_type, j.queue, j.light, j.published_at is not null as published, p.round, j.org_id, j.run_at
)
select id, job_type, queue, light, published from marked order by round, org_id, run_at, id
