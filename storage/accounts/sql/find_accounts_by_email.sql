-- The accounts of one mailbox in all orgs; a push names only the address.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where email = lower(%(email)s)
order by created_at, id
