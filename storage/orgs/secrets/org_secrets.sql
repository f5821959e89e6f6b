-- name: keep_org_secret
-- Keeps a sealed secret of an org; an earlier one of that name is gone.
insert into org_secrets (org_id, name, sealed, key_id)
values (%(org_id)s, %(name)s, %(sealed)s, %(key_id)s)
on conflict (org_id, name) do update set sealed = excluded.sealed, key_id = excluded.key_id, updated_at = now()
returning org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at

-- name: list_org_secrets
-- What secrets orgs have, without what they are.
select org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at
from org_secrets
where %(org_id)s::uuid is null or org_id = %(org_id)s
order by org_id, name
limit %(most)s

-- name: remove_org_secret
-- Removes a secret of an org.
delete from org_secrets where org_id = %(org_id)s and name = %(name)s
returning org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at

-- name: lock_old_org_secrets
-- Secrets that another key than the first has sealed, locked.
select org_id, name, sealed from org_secrets
where key_id <> %(key_id)s
order by org_id, name limit %(batch)s
for update skip locked

-- name: reseal_org_secret
-- Writes a secret that is sealed anew; what it is has not changed.
update org_secrets set sealed = %(sealed)s, key_id = %(key_id)s where org_id = %(org_id)s and name = %(name)s
