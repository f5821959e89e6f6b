-- Uses the link up: the browser goes to Google. No row when it was used or is too old.
update consent_requests set
  state = 'sent', state_digest = %(state_digest)s, browser_digest = %(browser_digest)s, sealed_verifier = %(sealed_verifier)s,
  answer_by = now() + %(answer_within)s
where id = %(request_id)s and state = 'asked' and link_expires_at > now()
returning id
