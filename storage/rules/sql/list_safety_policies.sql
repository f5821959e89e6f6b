-- The safety policies that bind an account: its own and its org's.
select p.account_id, p.confidence_floor, p.always_approve, p.approve_from
from safety_policies p
where p.org_id = (select org_id from accounts where id = %(account_id)s) and (p.account_id is null or p.account_id = %(account_id)s)
