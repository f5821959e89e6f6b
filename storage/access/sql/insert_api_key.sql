-- Keeps a new API key, without the key itself; no row for one whose time is over already.
insert into api_keys (org_id, name, role, prefix, digest, created_by, expires_at)
select %(org_id)s, %(name)s, %(role)s, %(prefix)s, %(digest)s, %(created_by)s, %(expires_at)s::timestamptz
where coalesce(%(expires_at)s::timestamptz > now(), true)
returning id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
