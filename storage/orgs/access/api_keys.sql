-- name: insert_api_key
-- Keeps a new API key, without the key itself; no row for one whose time is over already.
insert into api_keys (org_id, name, role, prefix, digest, created_by, expires_at)
select %(org_id)s, %(name)s, %(role)s, %(prefix)s, %(digest)s, %(created_by)s, %(expires_at)s::timestamptz
where coalesce(%(expires_at)s::timestamptz > now(), true)
returning id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at

-- name: find_api_key
-- The API key of a prefix, whether it is still good by the database's clock, and whether its use is worth a note.
select id as key_id, org_id, role, digest, revoked_at is null and (expires_at is null or expires_at > now()) as good,
  coalesce(last_used_at < now() - %(note_every)s::interval, true) as note
from api_keys where prefix = %(prefix)s

-- name: note_api_key_use
-- Notes that an API key is in use, unless another request has just done so.
update api_keys set last_used_at = now()
where id = (
  select id from api_keys
  where id = %(key_id)s and coalesce(last_used_at < now() - %(note_every)s::interval, true)
  for update skip locked
)

-- name: list_api_keys
-- API keys, of one org or of all, the newest first; never their digests.
select id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
from api_keys
where (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid) and (%(after_key_id)s::uuid is null or id < %(after_key_id)s)
order by id desc
limit %(limit)s

-- name: get_api_key
-- One API key, without its digest.
select id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
from api_keys where id = %(key_id)s

-- name: revoke_api_key
-- Revokes an API key that is not revoked yet.
update api_keys set revoked_at = now(), revoked_by = %(revoked_by)s
where id = %(key_id)s and revoked_at is null and org_id = coalesce(%(org_id)s::uuid, org_id)
returning id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
