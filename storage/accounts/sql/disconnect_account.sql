-- Forgets the tokens, the watch and how the owner writes; the mail stays. The next owner of the address may be somebody else.
with left_off as (
  update accounts set
    status = 'disconnected', status_reason = %(reason)s, status_changed_at = now(),
    sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null, scopes = '{}', google_subject = null,
    token_version = token_version + 1, refresh_owner = null, refresh_until = null,
    watch_expires_at = null, watch_renewed_at = null
  where id = %(account_id)s and status <> 'disconnected'
  returning id, org_id
),
forgotten as (
  delete from voices v using left_off l where v.org_id = l.org_id and v.account_id = l.id
)
select id from left_off
