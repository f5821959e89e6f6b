-- name: add_artifact
-- Writes that an artifact's bytes lie there.
insert into artifacts (id, org_id, project_id, kind, name, media_type, size, sha256, job_id, expires_at)
values (%(artifact_id)s, %(org_id)s, %(project_id)s, %(kind)s, %(name)s, %(media_type)s, %(size)s, %(sha256)s, %(job_id)s,
  now() + %(keep_for)s::interval)

-- name: find_artifact
select * from artifact_lines where artifact_id = %(artifact_id)s

-- name: list_artifacts
-- An org's artifacts after a position, the newest first.
select * from artifact_lines
where org_id = %(org_id)s
  and (%(after_created_at)s::timestamptz is null or (created_at, artifact_id) < (%(after_created_at)s::timestamptz, %(after_artifact_id)s::uuid))
order by created_at desc, artifact_id desc
limit %(limit)s

-- name: revoke_artifact_links
-- Makes every link to an artifact that was given so far good for nothing.
update artifacts set link_number = link_number + 1 where id = %(artifact_id)s

-- name: delete_artifact
-- Deletes an artifact: from now on nobody reads it; a row only the first time.
update artifacts set state = 'deleted', deleted_at = now() where id = %(artifact_id)s and state = 'ready'
returning id

-- name: expire_artifacts
-- Deletes artifacts whose time is over, of all orgs, the longest over first.
update artifacts set state = 'deleted', deleted_at = now()
where id in (
  select a.id from artifacts a where a.state = 'ready' and a.expires_at <= now()
  order by a.expires_at limit %(batch)s for update skip locked)
returning id as artifact_id

-- name: list_artifacts_to_remove
-- Deleted artifacts whose bytes still lie in the store, of all orgs, the longest deleted first. What the store has refused to
-- remove waits, and stands behind what was deleted before the refusal.
select id as artifact_id, org_id, size from artifacts
where state = 'deleted' and removed_at is null and (refused_at is null or refused_at <= now() - %(refused_for)s::interval)
order by coalesce(refused_at, deleted_at) limit %(batch)s

-- name: record_refused_artifacts
-- Writes that the store has refused to remove the bytes of artifacts.
update artifacts set refused_at = now() where id = any (%(artifact_ids)s) and state = 'deleted' and removed_at is null
returning id as artifact_id

-- name: record_removed_artifacts
-- Writes that the bytes of artifacts are gone.
update artifacts set removed_at = now() where id = any (%(artifact_ids)s) and state = 'deleted' and removed_at is null
returning id as artifact_id

-- name: list_known_artifacts
-- Which of these artifacts have a row, whatever its state.
select id as artifact_id from artifacts where id = any (%(artifact_ids)s)

-- name: list_erased_files
-- Files whose bytes are still to be removed, of those that an erasure has deleted.
select id as artifact_id, org_id, size from artifacts
where org_id = %(org_id)s and state = 'deleted' and removed_at is null
order by id limit %(most)s
