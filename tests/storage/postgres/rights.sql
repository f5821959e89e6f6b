-- Every right that somebody beside the owner has in a database of Postroom, a line each, and what bounds it. The owner's name is left
-- out: it differs from database to database.
with roles (name) as (values ('postroom_ledger'), ('postroom_tenant'), ('postroom_auditor'), ('postroom_watch'), ('postroom_hooks'), ('public')),
grants as (
  select 'table ' || c.relname as thing, a.grantee, string_agg(lower(a.privilege_type), ', ' order by a.privilege_type) as what
  from pg_class c cross join lateral aclexplode(c.relacl) as a
  where c.relnamespace in ('public'::regnamespace, 'postroom'::regnamespace) and a.grantee <> c.relowner
  group by c.relname, a.grantee
  union all
  select 'table ' || c.relname, x.grantee,
    lower(x.privilege_type) || ' of ' || string_agg(a.attname, ', ' order by a.attname)
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  cross join lateral aclexplode(a.attacl) as x
  where c.relnamespace in ('public'::regnamespace, 'postroom'::regnamespace) and x.grantee <> c.relowner
  group by c.relname, x.grantee, x.privilege_type
  union all
  select 'routine ' || p.oid::regprocedure::text, a.grantee, lower(a.privilege_type)
  from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
  where p.pronamespace in ('public'::regnamespace, 'postroom'::regnamespace) and a.grantee <> p.proowner
  union all
  -- Of PostgreSQL's own functions, those whose rights were changed.
  select 'routine pg_catalog.' || p.oid::regprocedure::text, a.grantee, lower(a.privilege_type)
  from postroom.closed_functions() f join pg_proc p on p.oid = to_regprocedure(f.signature)
  cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
  where a.grantee <> p.proowner
  union all
  select 'schema ' || n.nspname, a.grantee, string_agg(lower(a.privilege_type), ', ' order by a.privilege_type)
  from pg_namespace n cross join lateral aclexplode(n.nspacl) as a
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and a.grantee <> n.nspowner group by n.nspname, a.grantee
  union all
  select 'the database', a.grantee, string_agg(lower(a.privilege_type), ', ' order by a.privilege_type)
  from pg_database d cross join lateral aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
  where d.datname = current_database() and a.grantee <> d.datdba group by a.grantee
  union all
  select 'language ' || l.lanname, a.grantee, lower(a.privilege_type)
  from pg_language l cross join lateral aclexplode(coalesce(l.lanacl, acldefault('l', l.lanowner))) as a
  where l.lanname not in ('internal', 'c') and a.grantee <> l.lanowner
  union all
  select 'new ' || case d.defaclobjtype when 'r' then 'tables' when 'f' then 'routines' when 'S' then 'sequences' when 'T' then 'types'
    else 'schemas' end || coalesce(' in ' || n.nspname, ''), a.grantee, string_agg(lower(a.privilege_type), ', ' order by a.privilege_type)
  from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace cross join lateral aclexplode(d.defaclacl) as a
  where a.grantee <> d.defaclrole group by d.defaclobjtype, n.nspname, a.grantee
)
select line from (
  select 1 as part, r.name || ' | ' || g.thing || ' | ' || g.what as line
  from grants g join roles r on r.name = case when g.grantee = 0 then 'public' else g.grantee::regrole::text end
  union all
  select 2, 'somebody else | ' || g.thing || ' | ' || g.what
  from grants g where g.grantee <> 0 and g.grantee::regrole::text not in (select name from roles)
    and g.grantee::regrole::text <> 'pg_read_all_stats'
  union all
  select 3, 'definer | ' || p.oid::regprocedure || ' | ' ||
    case when p.proowner::regrole::text = 'postroom_hooks' then 'as postroom_hooks' else 'as the owner' end || ' | ' ||
    coalesce(array_to_string(p.proconfig, '; '), 'no search_path')
  from pg_proc p where p.prosecdef and p.pronamespace in ('public'::regnamespace, 'postroom'::regnamespace)
  union all
  select 4, 'policy | ' || p.tablename || '.' || p.policyname || ' | ' || lower(p.cmd) || ' to ' || array_to_string(p.roles, ', ') ||
    coalesce(' | using ' || regexp_replace(p.qual, '\s+', ' ', 'g'), '') || coalesce(' | check ' || regexp_replace(p.with_check, '\s+', ' ', 'g'), '')
  from pg_policies p where p.schemaname in ('public', 'postroom')
  union all
  select 5, 'row-level security | ' || c.relname || ' | ' || case when c.relrowsecurity then 'on' else 'off' end
  from pg_class c where c.relnamespace in ('public'::regnamespace, 'postroom'::regnamespace) and c.relkind in ('r', 'p')
  union all
  select 6, 'member | ' || m.member::regrole || ' of ' || m.roleid::regrole || ' | ' ||
    case when m.inherit_option then 'inherits' else 'does not inherit' end
  from pg_auth_members m where m.member::regrole::text in (select name from roles)
) as lines
order by part, line collate "C"
