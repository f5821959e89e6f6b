-- name: take_refresh_lease
-- Lets one process refresh for a short time, from the version it has seen (docs: google-oauth.md#refreshing).
update accounts set refresh_owner = %(owner)s, refresh_until = clock_timestamp() + %(lease)s
where id = %(account_id)s and status = 'active' and token_version = %(version)s
  and (refresh_until is null or refresh_until < clock_timestamp())
returning id

-- name: store_refreshed_tokens
-- The fruit of a refresh; nothing is stored when the version moved. Google sends a new refresh token only sometimes.
update accounts set
  sealed_access_token = %(access)s, sealed_refresh_token = coalesce(%(refresh)s, sealed_refresh_token),
  access_expires_at = %(access_expires_at)s, token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s and status = 'active' and token_version = %(version)s
returning token_version

-- name: release_refresh_lease
-- Gives the lease back after a refresh that failed, so that the next process need not wait for its end.
update accounts set refresh_owner = null, refresh_until = null
where id = %(account_id)s and refresh_owner = %(owner)s
returning id

-- name: find_old_seals
-- Accounts with a token that another key than the current one sealed; bytes 2 to 9 of a record name its key.
select id as account_id, status, sealed_access_token, sealed_refresh_token, access_expires_at, scopes, token_version
from accounts
where substring(sealed_access_token from 2 for 8) <> %(key_id)s or substring(sealed_refresh_token from 2 for 8) <> %(key_id)s
order by id
limit %(limit)s
for update skip locked

-- name: replace_seals
-- The same tokens under another key; no new version, for nothing changed that a reader could see.
update accounts set sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s
where id = %(account_id)s and token_version = %(version)s
returning id
