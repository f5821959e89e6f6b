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
    select case when exists (select from gates)
      then postroom.gate_of(p.org_id, p.job_type, p.queue, p.payload ->> 'account_id') end as gate
  ) as g
)
update jobs j set parked_by = p.gate, backlog_since = case when p.gate is null then j.run_at end
from picked p where j.id = p.id and p.gate is distinct from p.parked_by
returning j.id
