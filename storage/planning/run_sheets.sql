-- name: add_run_sheet
insert into run_sheets (org_id, project_id, name) values (%(org_id)s, %(project_id)s, %(name)s)
returning id as run_sheet_id, org_id, project_id, name, revision, created_at

-- name: find_run_sheet
select id as run_sheet_id, org_id, project_id, name, revision, created_at
from run_sheets where org_id = %(org_id)s and project_id = %(project_id)s and id = %(run_sheet_id)s

-- name: hold_plans
-- The org's row is the root of who is where in all its projects, and is locked first. Jobs, and all else that refers to it, go on.
select id from orgs where id = %(org_id)s for no key update

-- name: hold_run_sheets
-- What is changed, in the order of the ids.
select id as run_sheet_id, org_id, project_id, name, revision, created_at
from run_sheets
where org_id = %(org_id)s and project_id = %(project_id)s and (%(run_sheet_ids)s::uuid[] is null or id = any (%(run_sheet_ids)s::uuid[]))
order by id
for no key update

-- name: list_run_sheets
select id as run_sheet_id, org_id, project_id, name, revision, created_at
from run_sheets
where org_id = %(org_id)s and project_id = %(project_id)s and (%(after_run_sheet_id)s::uuid is null or id > %(after_run_sheet_id)s)
order by id
limit %(limit)s

-- name: rename_run_sheet
update run_sheets set name = %(name)s where org_id = %(org_id)s and project_id = %(project_id)s and id = %(run_sheet_id)s

-- name: raise_revision
update run_sheets set revision = revision + 1
where org_id = %(org_id)s and project_id = %(project_id)s and id = %(run_sheet_id)s
returning revision

-- name: add_slot
-- Nothing when the sheet has too many.
insert into slots (org_id, project_id, run_sheet_id, name, during, place_id, skills, headcount, priority)
select %(org_id)s, %(project_id)s, %(run_sheet_id)s, %(name)s, tstzrange(%(starts_at)s, %(ends_at)s), %(place_id)s, %(skills)s,
  %(headcount)s, %(priority)s
where (
  select count(*) from slots s
  where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.run_sheet_id = %(run_sheet_id)s) < %(most)s
returning id

-- name: change_slot
update slots set
  name = %(name)s, during = tstzrange(%(starts_at)s, %(ends_at)s), place_id = %(place_id)s, skills = %(skills)s,
  headcount = %(headcount)s, priority = %(priority)s
where org_id = %(org_id)s and project_id = %(project_id)s and id = %(slot_id)s

-- name: remove_slot
delete from slots where org_id = %(org_id)s and project_id = %(project_id)s and id = %(slot_id)s

-- name: find_slot
select s.id as slot_id, s.org_id, s.project_id, s.run_sheet_id, s.name, lower(s.during) as starts_at, upper(s.during) as ends_at, s.place_id,
  s.skills, s.headcount, s.priority
from slots s where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.id = %(slot_id)s

-- name: list_slots
-- With who is in them, in the order of their starts.
select s.id as slot_id, s.org_id, s.project_id, s.run_sheet_id, s.name, lower(s.during) as starts_at, upper(s.during) as ends_at, s.place_id,
  s.skills, s.headcount, s.priority, coalesce(people.people, '[]') as people
from slots s
cross join lateral (
  select jsonb_agg(jsonb_build_object('collaborator_id', c.id, 'name', c.name, 'is_pinned', a.is_pinned) order by c.id) as people
  from assignments a
  join collaborators c on c.org_id = a.org_id and c.project_id = a.project_id and c.id = a.collaborator_id
  where a.org_id = s.org_id and a.project_id = s.project_id and a.slot_id = s.id
) as people
where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.run_sheet_id = %(run_sheet_id)s
  and (%(after_starts_at)s::timestamptz is null or (lower(s.during), s.id) > (%(after_starts_at)s, %(after_slot_id)s::uuid))
order by lower(s.during), s.id
limit %(limit)s

-- name: describe_slots
-- A sheet's slots by their ids, with names, as the audit log keeps them.
select coalesce(jsonb_object_agg(s.id, jsonb_build_object(
  'name', s.name, 'starts_at', to_jsonb(lower(s.during)), 'ends_at', to_jsonb(upper(s.during)), 'place_id', s.place_id, 'place', p.name,
  'skills', to_jsonb(s.skills), 'headcount', s.headcount, 'priority', s.priority, 'people', coalesce(people.people, '{}'))), '{}') as slots
from slots s
left join places p on p.org_id = s.org_id and p.project_id = s.project_id and p.id = s.place_id
cross join lateral (
  select jsonb_object_agg(c.id, jsonb_build_object('name', c.name, 'is_pinned', a.is_pinned)) as people
  from assignments a
  join collaborators c on c.org_id = a.org_id and c.project_id = a.project_id and c.id = a.collaborator_id
  where a.org_id = s.org_id and a.project_id = s.project_id and a.slot_id = s.id
) as people
where s.org_id = %(org_id)s and s.project_id = %(project_id)s and s.run_sheet_id = %(run_sheet_id)s

-- name: assign
-- Who is in the slot already stays, pinned or not as is wanted now.
insert into assignments as a (org_id, project_id, slot_id, collaborator_id, is_pinned, assigned_by)
values (%(org_id)s, %(project_id)s, %(slot_id)s, %(collaborator_id)s, %(is_pinned)s, %(assigned_by)s)
on conflict (org_id, project_id, slot_id, collaborator_id) do update
set is_pinned = excluded.is_pinned, assigned_at = now(), assigned_by = excluded.assigned_by
where a.is_pinned <> excluded.is_pinned

-- name: unassign
delete from assignments
where org_id = %(org_id)s and project_id = %(project_id)s and slot_id = %(slot_id)s and collaborator_id = %(collaborator_id)s
returning 1

-- name: users_of_collaborators
-- Who of these can be told.
select id as collaborator_id, user_id from collaborators
where org_id = %(org_id)s and project_id = %(project_id)s and id = any (%(collaborator_ids)s::uuid[]) and user_id is not null
order by id
