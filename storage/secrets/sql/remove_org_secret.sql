-- Removes a secret of an org.
delete from org_secrets where org_id = %(org_id)s and name = %(name)s
returning org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at
