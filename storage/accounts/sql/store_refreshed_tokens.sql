-- The fruit of a refresh; nothing is stored when the version moved. Google sends a new refresh token only sometimes.
update accounts set
  sealed_access_token = %(access)s, sealed_refresh_token = coalesce(%(refresh)s, sealed_refresh_token),
  access_expires_at = %(access_expires_at)s, token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s and status = 'active' and token_version = %(version)s
returning token_version
