-- The safety policies of an org: its own first, then those of its accounts.
select p.account_id, p.confidence_floor, p.always_approve, p.approve_from, p.updated_at, p.updated_by
from safety_policies p
where p.org_id = %(org_id)s
order by p.account_id nulls first
