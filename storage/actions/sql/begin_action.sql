-- A job takes an action up, or takes up again what it had begun; nothing when the action is not to be executed by it.
update actions set
  state = 'executing', job_id = %(job_id)s, started_at = coalesce(started_at, now()), finished_at = null, error = null
where id = %(action_id)s and (state = any (%(may_begin)s::text[]) or (state = 'executing' and job_id = %(job_id)s))
returning id
