-- name: lose_org_credentials
-- Writes that a provider refuses these credentials of an org, or that the org has none; a row only where nobody has written it before, and
-- no others were set meanwhile. Waits for whoever is setting some.
insert into org_credentials as c (org_id, provider, set_at, lost_at, lost_code)
values (%(org_id)s, %(provider)s, %(set_at)s::timestamptz, now(), %(code)s)
on conflict (org_id, provider) do update set lost_at = excluded.lost_at, lost_code = excluded.lost_code
where c.lost_at is null and c.set_at is not distinct from excluded.set_at
returning lost_at

-- name: find_org_credentials
-- The credentials of an org at a provider.
select set_at, lost_at, lost_code from org_credentials where org_id = %(org_id)s and provider = %(provider)s

-- name: set_org_credentials
-- Writes that an org has given credentials.
insert into org_credentials (org_id, provider, set_at) values (%(org_id)s, %(provider)s, now())
on conflict (org_id, provider) do update set set_at = now(), lost_at = null, lost_code = null
returning set_at
