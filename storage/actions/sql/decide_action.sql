-- A person's decision about an action that waits for one, while it may be made; nothing when it was made before, or is too late.
update actions set
  state = %(to)s, approver = %(approver)s, decided_at = now(), approval_reason = %(reason)s,
  finished_at = case when %(to)s = 'denied' then now() end
where id = %(action_id)s and state = 'approved_pending' and (approval_expires_at is null or approval_expires_at > now())
returning id
