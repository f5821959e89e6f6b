-- Active accounts whose push watch was last renewed before `since`, was never made, or has expired, but for those
-- that were connected after `connected_before`: their onboarding is still at it. The expired ones get no pushes.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where status = 'active' and status_changed_at < %(connected_before)s
  and (watch_renewed_at is null or watch_renewed_at < %(since)s or watch_expires_at <= now())
order by watch_renewed_at nulls first, id
limit %(limit)s
