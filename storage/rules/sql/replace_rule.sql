-- Puts another definition in the place of a rule's; why it was off no longer holds.
update rules set name = %(name)s, priority = %(priority)s, definition = %(definition)s, enabled = %(enabled)s, disabled_reason = null, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s
returning id
