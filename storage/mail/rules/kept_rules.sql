-- name: count_rules
-- How many rules of these kinds an org has, and how long they are together.
select count(*) as rules, coalesce(sum(octet_length(definition::text) + coalesce(octet_length(content), 0)), 0) as bytes
from rules where org_id = %(org_id)s and kind = any (%(kinds)s::text[])

-- name: find_org_of_rule
-- Whose a rule is, whichever kind it is.
select org_id from rules where id = %(rule_id)s and kind <> 'direction'

-- name: replace_rule
-- Puts another rule of the same kind in the place of one; why it was off no longer holds.
update rules set account_id = %(account_id)s, scope = %(scope)s, scope_ref = %(scope_ref)s, name = %(name)s, priority = %(priority)s,
  definition = %(definition)s, content = %(content)s, enabled = %(enabled)s, disabled_reason = null, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s and kind = %(kind)s
returning id

-- name: turn_rule
-- Turns a rule of an org on or off; a reason says why it is off.
update rules set enabled = %(enabled)s, disabled_reason = %(reason)s, updated_at = now()
where id = %(rule_id)s and org_id = %(org_id)s and kind <> 'direction'
returning id

-- name: remove_rule
-- Removes a rule of one of these kinds, of the org if one is given.
delete from rules
where id = %(rule_id)s and (%(org_id)s::uuid is null or org_id = %(org_id)s) and kind = any (%(kinds)s::text[])
returning org_id

-- name: find_vanished_labels
-- Which of these labels no mailbox has any more: the account's, or for a rule of the whole org any account's.
select n.label_id, (select min(v.name) from labels v where v.org_id = %(org_id)s and v.gmail_label_id = n.label_id) as name
from unnest(%(ids)s::text[]) as n (label_id)
where not exists (
  select from labels l
  where l.org_id = %(org_id)s and l.gmail_label_id = n.label_id and l.deleted_at is null
    and (%(account_id)s::uuid is null or l.account_id = %(account_id)s))
order by n.label_id

-- name: list_kept_rules
-- The rules of these kinds of an org as their owners look at them, on or off: by their turn, directions by their scope, widest first.
select id as rule_id, kind, account_id, name, priority, enabled, disabled_reason, definition, scope, scope_ref, content, label_ids,
  created_at, updated_at
from rules
where org_id = %(org_id)s and kind = any (%(kinds)s::text[])
  and (%(rule_id)s::uuid is null or id = %(rule_id)s)
  and (%(account_id)s::uuid is null or account_id is null or account_id = %(account_id)s)
  and (%(enabled)s::boolean is null or enabled = %(enabled)s)
order by kind desc, priority, case when kind <> 'direction' then account_id end nulls last,
  case kind when 'direction' then array_position(array['global', 'account', 'domain', 'sender'], scope) end, id
limit %(limit)s
