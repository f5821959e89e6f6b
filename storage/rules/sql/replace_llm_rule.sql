-- Puts other words in the place of a rule's; why it was off no longer holds.
update llm_rules set name = %(name)s, account_id = %(account_id)s, scope = %(scope)s, scope_ref = lower(%(scope_ref)s), content = %(content)s,
  label_ids = %(label_ids)s::text[], enabled = %(enabled)s, disabled_reason = null, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s
returning id
