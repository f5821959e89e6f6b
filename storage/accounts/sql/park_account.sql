-- Consent is gone, unless somebody has stored newer tokens meanwhile; returns a row only the first time.
update accounts set
  status = 'needs_reconsent', status_reason = %(reason)s, status_changed_at = now(), refresh_owner = null, refresh_until = null
where id = %(account_id)s and status = 'active' and token_version = %(version)s
returning id
