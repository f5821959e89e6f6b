-- Writes a secret that is sealed anew; what it is has not changed.
update org_secrets set sealed = %(sealed)s, key_id = %(key_id)s where org_id = %(org_id)s and name = %(name)s
