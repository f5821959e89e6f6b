-- name: add_org
-- A new org. The caller holds the name's lock.
insert into orgs (name, settings, weight) values (%(name)s, %(settings)s, %(weight)s)
returning id as org_id, name, settings, weight, created_at

-- name: read_org
-- One org.
select id as org_id, name, settings, weight, created_at from orgs where id = %(org_id)s

-- name: change_org
-- Fields of the settings that are given are set, and those that are null go; a weight that is null stays.
update orgs set settings = jsonb_strip_nulls(settings || %(settings)s), weight = coalesce(%(weight)s, weight)
where id = %(org_id)s and erasing_since is null
returning id as org_id, name, settings, weight, created_at

-- name: list_orgs
-- Orgs after a position, the oldest first.
select id as org_id, name, settings, weight, created_at from orgs
where %(after_org_id)s::uuid is null or id > %(after_org_id)s
order by id
limit %(limit)s

-- name: list_named_orgs
-- Ids and names of orgs, the oldest first, of all or of these; at most so many.
select id as org_id, name from orgs where %(org_ids)s::uuid[] is null or id = any (%(org_ids)s::uuid[]) order by id limit %(limit)s
