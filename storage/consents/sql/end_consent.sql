-- What came of it; what has ended already stays as it is.
update consent_requests set
  state = case when %(account_id)s::uuid is null then 'refused' else 'connected' end, account_id = %(account_id)s, refusal = %(refusal)s,
  detail = %(detail)s, sealed_verifier = null, answered_at = coalesce(answered_at, now())
where id = %(request_id)s and state in ('sent', 'exchanging')
returning id
