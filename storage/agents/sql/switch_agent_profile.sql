-- Turns the newest version of a profile on or off, with the reason for its owner.
update agent_profiles set enabled = %(enabled)s, disabled_reason = %(reason)s
where id = (
  select p.id from agent_profiles p
  where p.org_id = %(org_id)s and p.account_id is not distinct from %(account_id)s and p.name = %(name)s
  order by p.version desc limit 1)
returning id as profile_id, org_id, account_id, name, version, definition, enabled, disabled_reason, created_at, created_by
