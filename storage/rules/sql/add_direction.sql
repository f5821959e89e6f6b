-- Saves a standing order to the model.
insert into directions (org_id, account_id, scope, scope_ref, content)
select o.id, %(account_id)s, %(scope)s, lower(%(scope_ref)s), %(content)s from orgs o where o.id = %(org_id)s
returning id
