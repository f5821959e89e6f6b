-- An account's sealed tokens as they stand now.
select id as account_id, status, sealed_access_token, sealed_refresh_token, access_expires_at, scopes, token_version
from accounts
where id = %(account_id)s
