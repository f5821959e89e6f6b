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
      select from gates g where g.scope = split_part(p.parked_by, ':', 2)
        and g.key = substr(p.parked_by, length(split_part(p.parked_by, ':', 2)) + 7) and (g.until is null or g.until > now())
    ) then 0
    else %(batch)s::int
  end as room
from (select parked_by from parks limit %(most)s) as p
