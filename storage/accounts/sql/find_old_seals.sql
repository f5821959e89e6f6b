-- Accounts with a token that another key than the current one sealed; bytes 2 to 9 of a record name its key.
select id as account_id, status, sealed_access_token, sealed_refresh_token, access_expires_at, scopes, token_version
from accounts
where substring(sealed_access_token from 2 for 8) <> %(key_id)s or substring(sealed_refresh_token from 2 for 8) <> %(key_id)s
order by id
limit %(limit)s
for update skip locked
