-- Removes the safety policy of an account or, without one, of an org: the next wider one holds.
delete from safety_policies where org_id = %(org_id)s and account_id is not distinct from %(account_id)s::uuid
returning id
