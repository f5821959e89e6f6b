-- Saves the safety policy of an account or, without one, of an org.
insert into safety_policies (org_id, account_id, confidence_floor, always_approve, approve_from, updated_by)
select o.id, %(account_id)s, %(confidence_floor)s, %(always_approve)s::text[], %(approve_from)s, %(updated_by)s from orgs o where o.id = %(org_id)s
on conflict (org_id, account_id) do update set
  confidence_floor = excluded.confidence_floor, always_approve = excluded.always_approve, approve_from = excluded.approve_from,
  updated_at = now(), updated_by = excluded.updated_by
returning id
