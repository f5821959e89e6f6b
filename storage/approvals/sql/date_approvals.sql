-- Until when these actions wait for a person; those that have a time keep it. Returns the ones that wait.
update actions set approval_expires_at = coalesce(approval_expires_at, now() + %(lasts)s)
where id = any (%(action_ids)s::uuid[]) and state = 'approved_pending'
returning id
