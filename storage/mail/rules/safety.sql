-- name: list_safety_policies
-- The safety policies that bind an account: its own and its org's.
select p.account_id, p.confidence_floor, p.always_approve, p.approve_from
from safety_policies p
where p.org_id = (select org_id from accounts where id = %(account_id)s) and (p.account_id is null or p.account_id = %(account_id)s)

-- name: list_org_safety_policies
-- The safety policies of an org: its own first, then those of its accounts.
select p.account_id, p.confidence_floor, p.always_approve, p.approve_from, p.updated_at, p.updated_by
from safety_policies p
where p.org_id = %(org_id)s
order by p.account_id nulls first

-- name: save_safety_policy
-- Saves the safety policy of an account or, without one, of an org.
insert into safety_policies (org_id, account_id, confidence_floor, always_approve, approve_from, updated_by)
select o.id, %(account_id)s, %(confidence_floor)s, %(always_approve)s::text[], %(approve_from)s, %(updated_by)s from orgs o where o.id = %(org_id)s
on conflict (org_id, account_id) do update set
  confidence_floor = excluded.confidence_floor, always_approve = excluded.always_approve, approve_from = excluded.approve_from,
  updated_at = now(), updated_by = excluded.updated_by
returning id

-- name: remove_safety_policy
-- Removes the safety policy of an account or, without one, of an org: the next wider one holds.
delete from safety_policies where org_id = %(org_id)s and account_id is not distinct from %(account_id)s::uuid
returning id
