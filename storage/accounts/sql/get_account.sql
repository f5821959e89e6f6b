-- One account, its tokens still sealed.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at,
       sealed_access_token, sealed_refresh_token, access_expires_at, google_subject, connected_at
from accounts
where id = %(account_id)s
