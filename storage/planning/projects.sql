-- columns: collaborator
c.id as collaborator_id, c.org_id, c.project_id, c.user_id, c.name, c.home_id, c.most_minutes_a_day, c.most_minutes_a_week,
  array(
    select s.skill from collaborator_skills s
    where s.org_id = c.org_id and s.project_id = c.project_id and s.collaborator_id = c.id order by s.skill) as skills

-- name: add_project
insert into projects (org_id, name, zone, speed_kmh)
values (%(org_id)s, %(name)s, %(zone)s, %(speed_kmh)s)
returning id as project_id, org_id, name, zone, speed_kmh, created_at

-- name: change_project
-- What is null stays.
update projects set
  name = coalesce(%(name)s, name), zone = coalesce(%(zone)s, zone), speed_kmh = coalesce(%(speed_kmh)s, speed_kmh)
where org_id = %(org_id)s and id = %(project_id)s
returning id as project_id, org_id, name, zone, speed_kmh, created_at

-- name: find_project
select id as project_id, org_id, name, zone, speed_kmh, created_at
from projects where org_id = %(org_id)s and id = %(project_id)s

-- name: list_projects
-- The newest last: an id tells its time.
select id as project_id, org_id, name, zone, speed_kmh, created_at
from projects
where org_id = %(org_id)s and (%(after_project_id)s::uuid is null or id > %(after_project_id)s)
order by id
limit %(limit)s

-- name: add_place
-- Nothing when the project has too many.
insert into places (org_id, project_id, name, latitude, longitude, minutes_to)
select %(org_id)s, %(project_id)s, %(name)s, %(latitude)s, %(longitude)s, coalesce(%(minutes_to)s::jsonb, '{}')
where (select count(*) from places p where p.org_id = %(org_id)s and p.project_id = %(project_id)s) < %(most)s
returning id as place_id, org_id, project_id, name, latitude, longitude, minutes_to

-- name: change_place
update places set
  name = coalesce(%(name)s, name), latitude = coalesce(%(latitude)s, latitude), longitude = coalesce(%(longitude)s, longitude),
  minutes_to = coalesce(%(minutes_to)s::jsonb, minutes_to)
where org_id = %(org_id)s and project_id = %(project_id)s and id = %(place_id)s
returning id as place_id, org_id, project_id, name, latitude, longitude, minutes_to

-- name: list_places
select id as place_id, org_id, project_id, name, latitude, longitude, minutes_to
from places
where org_id = %(org_id)s and project_id = %(project_id)s and (%(after_place_id)s::uuid is null or id > %(after_place_id)s)
order by id
limit %(limit)s

-- name: known_places
-- Which of these are places of the project.
select id from places where org_id = %(org_id)s and project_id = %(project_id)s and id = any (%(place_ids)s::uuid[])

-- name: add_collaborator
-- Nothing when the project has too many, or the user is another collaborator of it.
insert into collaborators (org_id, project_id, user_id, name, home_id, most_minutes_a_day, most_minutes_a_week)
select %(org_id)s, %(project_id)s, %(user_id)s, %(name)s, %(home_id)s, %(most_minutes_a_day)s, %(most_minutes_a_week)s
where (select count(*) from collaborators c where c.org_id = %(org_id)s and c.project_id = %(project_id)s) < %(most)s
on conflict do nothing
returning id

-- name: change_collaborator
-- What is null stays. Nothing when there is no such collaborator, or the user is another one of the project.
update collaborators c set
  user_id = coalesce(%(user_id)s, user_id), name = coalesce(%(name)s, name), home_id = coalesce(%(home_id)s, home_id),
  most_minutes_a_day = coalesce(%(most_minutes_a_day)s, most_minutes_a_day),
  most_minutes_a_week = coalesce(%(most_minutes_a_week)s, most_minutes_a_week)
where c.org_id = %(org_id)s and c.project_id = %(project_id)s and c.id = %(collaborator_id)s
  and not exists (
    select from collaborators o
    where o.org_id = c.org_id and o.project_id = c.project_id and o.user_id = %(user_id)s and o.id <> c.id)
returning c.id

-- name: set_skills
-- The person has these skills and no others.
with gone as (
  delete from collaborator_skills
  where org_id = %(org_id)s and project_id = %(project_id)s and collaborator_id = %(collaborator_id)s
    and skill <> all (%(skills)s::text[])
)
insert into collaborator_skills (org_id, project_id, collaborator_id, skill)
select %(org_id)s, %(project_id)s, %(collaborator_id)s, s from unnest(%(skills)s::text[]) as s
on conflict do nothing

-- name: list_collaborators
select columns(collaborator) from collaborators c
where c.org_id = %(org_id)s and c.project_id = %(project_id)s and (%(after_collaborator_id)s::uuid is null or c.id > %(after_collaborator_id)s)
order by c.id
limit %(limit)s

-- name: find_collaborator
select columns(collaborator) from collaborators c
where c.org_id = %(org_id)s and c.project_id = %(project_id)s and c.id = %(collaborator_id)s

-- name: knows_user
select 1 from users where org_id = %(org_id)s and id = %(user_id)s

-- name: add_availability
-- Nothing when the person has too many.
insert into availabilities (org_id, project_id, collaborator_id, kind, during, source)
select %(org_id)s, %(project_id)s, %(collaborator_id)s, %(kind)s, tstzrange(%(starts_at)s, %(ends_at)s), %(source)s
where (
  select count(*) from availabilities a
  where a.org_id = %(org_id)s and a.project_id = %(project_id)s and a.collaborator_id = %(collaborator_id)s) < %(most)s
returning id as availability_id, org_id, project_id, collaborator_id, kind, lower(during) as starts_at, upper(during) as ends_at, source

-- name: remove_availability
delete from availabilities
where org_id = %(org_id)s and project_id = %(project_id)s and collaborator_id = %(collaborator_id)s and id = %(availability_id)s
returning id as availability_id, org_id, project_id, collaborator_id, kind, lower(during) as starts_at, upper(during) as ends_at, source

-- name: list_availabilities
select id as availability_id, org_id, project_id, collaborator_id, kind, lower(during) as starts_at, upper(during) as ends_at, source
from availabilities
where org_id = %(org_id)s and project_id = %(project_id)s and collaborator_id = %(collaborator_id)s
  and (%(after_starts_at)s::timestamptz is null or (lower(during), id) > (%(after_starts_at)s, %(after_availability_id)s::uuid))
order by lower(during), id
limit %(limit)s

-- name: find_imported
-- What an earlier import of a source has written for people and their events.
select a.collaborator_id, a.external_uid, a.kind, lower(a.during) as starts_at, upper(a.during) as ends_at
from unnest(%(collaborator_ids)s::uuid[], %(external_uids)s::text[]) as n (collaborator_id, external_uid)
join availabilities a on a.org_id = %(org_id)s and a.project_id = %(project_id)s and a.collaborator_id = n.collaborator_id
  and a.source = %(source)s and a.external_uid = n.external_uid

-- name: count_availabilities
select collaborator_id, count(*)::integer as number
from availabilities
where org_id = %(org_id)s and project_id = %(project_id)s and collaborator_id = any (%(collaborator_ids)s::uuid[])
group by collaborator_id

-- name: import_availabilities
-- A row for what is new, and for what differs; nothing for what is so already. In the order of the key: two imports wait for each other.
insert into availabilities as a (org_id, project_id, collaborator_id, kind, during, source, external_uid)
select %(org_id)s, %(project_id)s, n.collaborator_id, n.kind, tstzrange(n.starts_at, n.ends_at), %(source)s, n.external_uid
from unnest(%(collaborator_ids)s::uuid[], %(external_uids)s::text[], %(kinds)s::text[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
  as n (collaborator_id, external_uid, kind, starts_at, ends_at)
order by n.collaborator_id, n.external_uid
on conflict (org_id, project_id, collaborator_id, source, external_uid) where external_uid is not null
do update set kind = excluded.kind, during = excluded.during where (a.kind, a.during) is distinct from (excluded.kind, excluded.during)
returning a.xmax::text = '0' as is_new
