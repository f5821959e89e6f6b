-- The same tokens under another key; no new version, for nothing changed that a reader could see.
update accounts set sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s
where id = %(account_id)s and token_version = %(version)s
returning id
