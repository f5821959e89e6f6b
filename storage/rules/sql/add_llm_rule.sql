-- Saves a rule in plain words; a scope that names a sender or domain keeps it in lower case.
insert into llm_rules (org_id, account_id, scope, scope_ref, name, content, label_ids)
select o.id, %(account_id)s, %(scope)s, lower(%(scope_ref)s), %(name)s, %(content)s, %(label_ids)s::text[] from orgs o where o.id = %(org_id)s
returning id
