-- Takes the state for one exchange. No row when another request has taken it, or when it is too late.
update consent_requests set state = 'exchanging', sealed_verifier = null, answered_at = now()
where id = %(request_id)s and state = 'sent' and answer_by > now()
returning id
