-- Turns a rule on or off; a reason says why it is off.
update rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
where id = %(rule_id)s
returning id
