-- The accounts this transaction may see, without their tokens.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where (%(org_id)s::uuid is null or org_id = %(org_id)s)
order by org_id, email
