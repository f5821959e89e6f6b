-- name: plan_slots
select id, name, lower(during) as starts_at, upper(during) as ends_at, place_id, skills, headcount, priority
from slots
where org_id = %(org_id)s and project_id = %(project_id)s and (%(run_sheet_id)s::uuid is null or run_sheet_id = %(run_sheet_id)s)
order by id

-- name: plan_people
select c.id, c.name, c.home_id, c.most_minutes_a_day, c.most_minutes_a_week,
  array(
    select s.skill from collaborator_skills s
    where s.org_id = c.org_id and s.project_id = c.project_id and s.collaborator_id = c.id) as skills
from collaborators c
where c.org_id = %(org_id)s and c.project_id = %(project_id)s
order by c.id

-- name: plan_availabilities
-- What people say of the time of the plan; and one time each at which they are available, for who states none is always so.
select a.collaborator_id, a.kind, lower(a.during) as starts_at, upper(a.during) as ends_at
from availabilities a
where a.org_id = %(org_id)s and a.project_id = %(project_id)s
  and (a.during && tstzrange(%(starts_at)s, %(ends_at)s)
    or a.id = (
      select f.id from availabilities f
      where f.org_id = a.org_id and f.project_id = a.project_id and f.collaborator_id = a.collaborator_id and f.kind <> 'busy'
      order by lower(f.during), f.id limit 1))

-- name: plan_assignments
select a.slot_id, a.collaborator_id, a.is_pinned
from assignments a
join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
where a.org_id = %(org_id)s and a.project_id = %(project_id)s and (%(run_sheet_id)s::uuid is null or s.run_sheet_id = %(run_sheet_id)s)

-- name: plan_places
select id, name, latitude, longitude, minutes_to from places where org_id = %(org_id)s and project_id = %(project_id)s order by id

-- name: plan_commitments
-- In other projects; and in other run sheets of the project, where the plan is of one.
select collaborator_id, lower(during) as starts_at, upper(during) as ends_at, place_id, latitude, longitude, true as is_elsewhere
from postroom.commitments_of(%(org_id)s, %(project_id)s)
union all
select a.collaborator_id, lower(s.during), upper(s.during), s.place_id, null, null, false
from assignments a
join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
where a.org_id = %(org_id)s and a.project_id = %(project_id)s and s.run_sheet_id <> %(run_sheet_id)s::uuid

-- name: join_whole_projects
-- For the rest of the transaction. Of a project that was just filled PostgreSQL has no statistics: it takes a person for having one slot,
-- and would look at each pair of all slots.
select set_config('enable_nestloop', 'off', true)

-- Each of the next five counts all that it finds, in `total` of each row, and returns the first `most`.

-- name: find_skill_conflicts
-- Of the person's slots in the window, those for which a skill is missing.
select a.collaborator_id, array[s.id] as slot_ids, missing.skills as detail, 0 as minutes, count(*) over () as total
from slots s
join assignments a on a.org_id = s.org_id and a.project_id = s.project_id and a.slot_id = s.id
cross join lateral (
  select string_agg(w.skill, ', ' order by w.skill collate "C") as skills
  from (select distinct unnest(s.skills)) as w (skill)
  where not exists (
    select from collaborator_skills h
    where h.org_id = s.org_id and h.project_id = s.project_id and h.collaborator_id = a.collaborator_id and h.skill = w.skill)
) as missing
where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.during && tstzrange(%(starts_at)s, %(ends_at)s)
  and missing.skills is not null
order by a.collaborator_id, s.id limit %(most)s

-- name: find_availability_conflicts
-- What a person has stated, or all time, less what is busy, must contain the slot.
with free as (
  select c.id as collaborator_id,
    coalesce(range_agg(a.during) filter (where a.kind <> 'busy'), '{(,)}'::tstzmultirange)
      - coalesce(range_agg(a.during) filter (where a.kind = 'busy'), '{}'::tstzmultirange) as times
  from collaborators c
  left join availabilities a on a.org_id = c.org_id and a.project_id = c.project_id and a.collaborator_id = c.id
  where c.org_id = %(org_id)s and c.project_id = %(project_id)s
  group by c.id
)
select a.collaborator_id, array[s.id] as slot_ids, '' as detail, 0 as minutes, count(*) over () as total
from slots s
join assignments a on a.org_id = s.org_id and a.project_id = s.project_id and a.slot_id = s.id
join free f on f.collaborator_id = a.collaborator_id
where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.during && tstzrange(%(starts_at)s, %(ends_at)s)
  and not f.times @> s.during
order by a.collaborator_id, s.id limit %(most)s

-- name: find_overlap_conflicts
-- Two slots of a person at once, one of them in the window; or a slot and what the person does in another project.
with given as (
  select a.collaborator_id, s.id as slot_id, s.during
  from assignments a
  join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
  where a.org_id = %(org_id)s and a.project_id = %(project_id)s
),
found as (
  select g.collaborator_id, array[g.slot_id, o.slot_id] as slot_ids, null::timestamptz as elsewhere_at, 0 as minutes
  from given g
  join given o on o.collaborator_id = g.collaborator_id and (o.during, o.slot_id) > (g.during, g.slot_id) and o.during && g.during
  where g.during && tstzrange(%(starts_at)s, %(ends_at)s) or o.during && tstzrange(%(starts_at)s, %(ends_at)s)
  union all
  select g.collaborator_id, array[g.slot_id], lower(c.during), 0
  from given g
  join postroom.commitments_of(%(org_id)s, %(project_id)s) c on c.collaborator_id = g.collaborator_id and c.during && g.during
  where g.during && tstzrange(%(starts_at)s, %(ends_at)s)
)
select found.*, count(*) over () as total from found
order by collaborator_id, slot_ids, elsewhere_at limit %(most)s

-- name: find_travel_conflicts
-- Every pair of what a person does whose gap is less than the longest way may take, not neighbours alone.
with given as (
  select a.collaborator_id, s.id as slot_id, s.during, p.id as place_id, p.latitude, p.longitude, p.minutes_to
  from assignments a
  join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
  join places p on p.org_id = s.org_id and p.project_id = s.project_id and p.id = s.place_id
  where a.org_id = %(org_id)s and a.project_id = %(project_id)s
),
engaged as (
  select g.*, g.during && tstzrange(%(starts_at)s, %(ends_at)s) as is_in_window from given g
  union all
  select c.collaborator_id, null, c.during, c.place_id, c.latitude, c.longitude, '{}', false
  from postroom.commitments_of(%(org_id)s, %(project_id)s) c
  where c.place_id is not null
),
pairs as (
  select f.collaborator_id, array_remove(array[f.slot_id, s.slot_id], null) as slot_ids,
    case when f.slot_id is null then lower(f.during) when s.slot_id is null then lower(s.during) end as elsewhere_at,
    coalesce(
      (f.minutes_to ->> s.place_id::text)::integer,
      -- `least` passes over what is null: an unknown way would take a number of minutes.
      case when f.latitude + s.latitude is not null then least(%(most_minutes)s, ceil(
        2 * %(earth_km)s::double precision * asin(least(1, sqrt(
          power(sin((radians(s.latitude) - radians(f.latitude)) / 2), 2)
          + cos(radians(f.latitude)) * cos(radians(s.latitude)) * power(sin(radians(s.longitude - f.longitude) / 2), 2))))
        * %(detour)s::double precision / %(speed_kmh)s * 60))::integer end,
      0) - floor(extract(epoch from lower(s.during) - upper(f.during)) / 60)::integer as minutes
  from engaged f
  join engaged s on s.collaborator_id = f.collaborator_id and s.place_id <> f.place_id
    and lower(s.during) >= upper(f.during) and lower(s.during) < upper(f.during) + make_interval(mins => %(most_minutes)s)
  where f.is_in_window or s.is_in_window
)
select pairs.*, count(*) over () as total from pairs where minutes > 0
order by collaborator_id, slot_ids, elsewhere_at limit %(most)s

-- name: find_hours_conflicts
-- Days and weeks, by the clocks of the project, in which a person works too long, and a slot of which is in the window.
with engaged as (
  select a.collaborator_id, s.id as slot_id, s.during
  from assignments a
  join slots s on s.org_id = a.org_id and s.project_id = a.project_id and s.id = a.slot_id
  where a.org_id = %(org_id)s and a.project_id = %(project_id)s
  union all
  select c.collaborator_id, null, c.during from postroom.commitments_of(%(org_id)s, %(project_id)s) c
),
counted as (
  select e.*, period.name, period.most, ceil(extract(epoch from upper(e.during) - lower(e.during)) / 60)::integer as minutes
  from engaged e
  join collaborators c on c.org_id = %(org_id)s and c.project_id = %(project_id)s and c.id = e.collaborator_id
  cross join lateral (values
    (to_char(lower(e.during) at time zone %(zone)s, 'YYYY-MM-DD'), c.most_minutes_a_day),
    (to_char(lower(e.during) at time zone %(zone)s, 'IYYY"-W"IW'), c.most_minutes_a_week)) as period (name, most)
  where period.most is not null
)
select collaborator_id, array_agg(slot_id order by during, slot_id) filter (where slot_id is not null) as slot_ids, name as detail,
  sum(minutes)::integer - max(most) as minutes, count(*) over () as total
from counted
group by collaborator_id, name
having sum(minutes) > max(most) and bool_or(slot_id is not null and during && tstzrange(%(starts_at)s, %(ends_at)s))
order by collaborator_id, name collate "C" limit %(most)s

-- name: add_proposal
-- With the end of the job: an attempt that died has added none.
insert into proposals (org_id, project_id, job_id, run_sheet_id, rank, weights, plan_hash, plan_parts, points, total, most, is_proved,
  choices, reasons)
values (%(org_id)s, %(project_id)s, %(job_id)s, %(run_sheet_id)s, %(rank)s, %(weights)s, %(plan_hash)s, %(plan_parts)s, %(points)s,
  %(total)s, %(most)s, %(is_proved)s, %(choices)s, %(reasons)s)
returning id

-- name: list_proposals
-- The newest first.
select id as proposal_id, org_id, project_id, job_id, run_sheet_id, rank, weights, plan_hash, points, total, most, is_proved,
  created_at, applied_at, applied_by
from proposals
where org_id = %(org_id)s and project_id = %(project_id)s
  and (%(after_created_at)s::timestamptz is null or (created_at, id) < (%(after_created_at)s, %(after_proposal_id)s::uuid))
order by created_at desc, id desc
limit %(limit)s

-- name: find_proposal
select id as proposal_id, org_id, project_id, job_id, run_sheet_id, rank, weights, plan_hash, points, total, most, is_proved,
  created_at, applied_at, applied_by, plan_parts, choices, reasons
from proposals where org_id = %(org_id)s and id = %(proposal_id)s

-- name: mark_applied
-- Nothing when it was applied before.
update proposals set applied_at = now(), applied_by = %(applied_by)s
where org_id = %(org_id)s and id = %(proposal_id)s and applied_at is null
returning applied_at
