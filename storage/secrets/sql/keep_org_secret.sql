-- Keeps a sealed secret of an org; an earlier one of that name is gone.
insert into org_secrets (org_id, name, sealed, key_id)
values (%(org_id)s, %(name)s, %(sealed)s, %(key_id)s)
on conflict (org_id, name) do update set sealed = excluded.sealed, key_id = excluded.key_id, updated_at = now()
returning org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at
