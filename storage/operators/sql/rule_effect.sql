-- A person found out whether an effect happened: the next attempt gets its result, or may cause it.
update idempotency_keys set status = %(status)s, result_ref = %(result)s, last_seen_at = now(), request = null,
  expires_at = greatest(expires_at, now() + postroom.keep_effects_for())
where org_id = %(org_id)s and key = %(key)s and kind = 'effect' and status = 'unknown'
returning key
