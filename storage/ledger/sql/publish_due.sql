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
    select case when exists (select from gates)
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
  returning j.id, j.job_type, j.queue, j.light, j.published_at is not null as published
),
newly_over_burst as (
  insert into orgs_over_burst (queue, org_id) select distinct queue, org_id from ranked where fresh and not over_burst and rank > %(burst)s
)
select id, job_type, queue, light, published from marked
