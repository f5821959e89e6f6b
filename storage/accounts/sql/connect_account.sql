-- New consent: stores the sealed tokens, and what waits on the account's refresh lease sees a new version.
-- A disconnected account is held by now: jobs of the owner before were made before this statement, if not before its transaction.
update accounts set
  status = 'active', status_reason = null,
  connected_at = case when status = 'disconnected' then statement_timestamp() else connected_at end,
  status_changed_at = case status when 'active' then status_changed_at when 'disconnected' then statement_timestamp() else now() end,
  sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s, access_expires_at = %(access_expires_at)s,
  scopes = %(scopes)s::text[], google_subject = coalesce(%(subject)s, google_subject), token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s
returning id
