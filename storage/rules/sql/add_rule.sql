-- Saves a rule of an account, or of the whole org when it names none.
insert into rules (org_id, account_id, name, priority, definition, enabled)
select o.id, %(account_id)s, %(name)s, %(priority)s, %(definition)s, %(enabled)s from orgs o where o.id = %(org_id)s
returning id
