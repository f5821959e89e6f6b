-- Revokes an API key that is not revoked yet.
update api_keys set revoked_at = now(), revoked_by = %(revoked_by)s
where id = %(key_id)s and revoked_at is null
returning id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
