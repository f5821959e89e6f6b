-- name: lock_definition
-- Lets nobody else save a version of this workflow until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('postroom workflow: ' || %(org_id)s::uuid || ' ' || %(name)s, 0))

-- name: save_definition
-- The next version; none for a document that the org has saved under this name before.
insert into workflow_definitions (org_id, name, version, document, hash, saved_by)
select %(org_id)s, %(name)s::text,
  coalesce((select max(d.version) from workflow_definitions d where d.org_id = %(org_id)s and d.name = %(name)s), 0) + 1,
  %(document)s, %(hash)s, %(saved_by)s
on conflict (org_id, name, hash) do nothing
returning version

-- name: find_definition_by_hash
-- The version under which an org has saved a document.
select version from workflow_definitions where org_id = %(org_id)s and name = %(name)s and hash = %(hash)s

-- name: get_definition
-- One version of a workflow, or its latest one.
select org_id, name, version, document::json as document, xmin::text as written_by, saved_by, saved_at from workflow_definitions
where org_id = %(org_id)s and name = %(name)s and (%(version)s::integer is null or version = %(version)s)
order by version desc limit 1

-- name: get_definition_writer
-- The transaction that has written a version last. An erasure writes its document anew.
select xmin::text as written_by from workflow_definitions where org_id = %(org_id)s and name = %(name)s and version = %(version)s

-- name: list_definitions
-- The latest version of each workflow of an org, by name.
select d.org_id, d.name, d.version, d.saved_by, d.saved_at
from (
  select distinct on (name) org_id, name, version, saved_by, saved_at from workflow_definitions
  where org_id = %(org_id)s and name > coalesce(%(after_name)s::text, '')
  order by name, version desc
) as d
order by d.name limit %(limit)s

-- name: list_versions
-- The versions of a workflow, the newest first.
select org_id, name, version, saved_by, saved_at from workflow_definitions
where org_id = %(org_id)s and name = %(name)s and (%(after_version)s::integer is null or version < %(after_version)s)
order by version desc limit %(limit)s

-- name: latest_versions
-- The latest versions of some workflows of an org.
select name, max(version) as version from workflow_definitions
where org_id = %(org_id)s and name = any (%(names)s::text[]) group by name
