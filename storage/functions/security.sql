-- What no migration can settle once: rights that belong to the database or the cluster, which a restore, a copy or an administrator
-- changes. `celery -A tasks database migrate` calls postroom.secure() each time; doctor compares (docs/explanation/tenancy.md).

-- Which functions of PostgreSQL nobody needs who is not the engine or the owner, and why.
create or replace function postroom.closed_functions() returns table (signature text, is_for_engine boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
  values
    -- Handlers of all orgs share a login, and a login may end its own backends.
    ('pg_terminate_backend(integer,bigint)', false),
    ('pg_cancel_backend(integer)', false),
    -- Locks by number are the cluster's: they outlive a transaction, and their table is finite.
    ('pg_advisory_lock(bigint)', false), ('pg_advisory_lock(integer,integer)', false),
    ('pg_advisory_lock_shared(bigint)', false), ('pg_advisory_lock_shared(integer,integer)', false),
    ('pg_try_advisory_lock(bigint)', false), ('pg_try_advisory_lock(integer,integer)', false),
    ('pg_try_advisory_lock_shared(bigint)', false), ('pg_try_advisory_lock_shared(integer,integer)', false),
    ('pg_advisory_xact_lock(bigint)', true), ('pg_advisory_xact_lock(integer,integer)', false),
    ('pg_advisory_xact_lock_shared(bigint)', false), ('pg_advisory_xact_lock_shared(integer,integer)', false),
    ('pg_try_advisory_xact_lock(bigint)', false), ('pg_try_advisory_xact_lock(integer,integer)', false),
    ('pg_try_advisory_xact_lock_shared(bigint)', false), ('pg_try_advisory_xact_lock_shared(integer,integer)', false),
    -- A large object belongs to a login, and so to the handlers of all orgs.
    ('lo_creat(integer)', false), ('lo_create(oid)', false), ('lo_from_bytea(oid,bytea)', false), ('lo_open(oid,integer)', false),
    ('lo_put(oid,bigint,bytea)', false), ('lo_get(oid)', false), ('lo_get(oid,bigint,integer)', false), ('lo_unlink(oid)', false),
    -- What other sessions of the same login do, with the text of their statements.
    ('pg_stat_get_activity(integer)', true), ('pg_stat_get_backend_activity(integer)', false)
$$;

-- What an audit of the roles finds wrong: its kind, and what was seen. Empty when all is well.
create or replace function postroom.wrong_rights() returns table (problem text, seen text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select 'definer without a safe search_path', p.oid::regprocedure::text
  from pg_proc p
  where p.pronamespace = 'postroom'::regnamespace and p.prosecdef
    and not coalesce('search_path=pg_catalog, public, pg_temp' = any (p.proconfig), false)
  union all
  select 'everybody may execute it', p.oid::regprocedure::text
  from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
  where p.pronamespace = 'postroom'::regnamespace and a.grantee = 0
  union all
  select 'right of the database', r.rolname || ' may ' || w.what
  from pg_roles r cross join unnest(array['TEMPORARY', 'CREATE']) as w (what)
  where r.rolname in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
    and has_database_privilege(r.oid, current_database(), w.what)
  union all
  select 'right of a schema', r.rolname || ' may create in ' || n.nspname
  from pg_roles r cross join pg_namespace n
  where r.rolname in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks') and n.nspname !~ '^pg_(toast|temp)'
    and has_schema_privilege(r.oid, n.oid, 'CREATE')
  union all
  select 'setting of a role', r.rolname || ': ' || s.setting
  from pg_db_role_setting d join pg_roles r on r.oid = d.setrole cross join unnest(d.setconfig) as s (setting)
  where r.rolname in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
  union all
  select 'power of a role', r.rolname
  from pg_roles r
  where r.rolname in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
    and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)
  union all
  select 'membership', m.member::regrole || ' in ' || m.roleid::regrole
  from pg_auth_members m
  where m.member::regrole::text in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
    and (m.member::regrole::text, m.roleid::regrole::text) not in (('postroom_hooks', 'postroom_tenant'), ('postroom_hooks', 'postroom_auditor'))
  union all
  select 'login of hooks', r.rolname from pg_roles r where r.rolname = 'postroom_hooks' and r.rolcanlogin
  union all
  select 'right to lock a table', c.oid::regclass::text
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and (has_table_privilege('postroom_tenant', c.oid, 'UPDATE') or has_table_privilege('postroom_tenant', c.oid, 'DELETE')
      or has_table_privilege('postroom_tenant', c.oid, 'TRUNCATE') or has_table_privilege('postroom_tenant', c.oid, 'MAINTAIN'))
  union all
  select 'row-level security is off', c.oid::regclass::text
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity
    and has_any_column_privilege('postroom_tenant', c.oid, 'SELECT') and c.relname <> 'job_types'
  union all
  select 'handlers may read', c.oid::regclass || '.' || a.attname
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace
    and (a.attname in ('claim_token', 'owner_token') or c.relname in ('tenant_seal', 'relay_leader', 'gates', 'workers')
      or (c.relname = 'budget_reservations' and a.attname = 'token'))
    and has_column_privilege('postroom_tenant', c.oid, a.attnum, 'SELECT')
  union all
  select 'handlers may execute', f.signature
  from postroom.closed_functions() f cross join unnest(array['postroom_tenant', 'postroom_auditor', 'postroom_watch']) as r (name)
  where to_regprocedure(f.signature) is not null and has_function_privilege(r.name, to_regprocedure(f.signature), 'EXECUTE')
  union all
  select 'handlers may write code', 'language ' || l.lanname
  from pg_language l where l.lanpltrusted and has_language_privilege('postroom_tenant', l.oid, 'USAGE')
  union all
  select 'the auditor may do more than write details', c.oid::regclass::text
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and (has_any_column_privilege('postroom_auditor', c.oid, 'UPDATE') or has_table_privilege('postroom_auditor', c.oid, 'DELETE')
      or has_table_privilege('postroom_auditor', c.oid, 'TRUNCATE') or has_table_privilege('postroom_auditor', c.oid, 'TRIGGER')
      or has_table_privilege('postroom_auditor', c.oid, 'REFERENCES') or has_table_privilege('postroom_auditor', c.oid, 'MAINTAIN')
      or (has_any_column_privilege('postroom_auditor', c.oid, 'INSERT') and c.relname <> 'audit_details')
      or (has_any_column_privilege('postroom_auditor', c.oid, 'SELECT') and c.relname not in ('audit_details', 'audit_entries')))
  union all
  select 'who watches may do more than read the history', c.oid::regclass::text
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and (has_any_column_privilege('postroom_watch', c.oid, 'INSERT') or has_any_column_privilege('postroom_watch', c.oid, 'UPDATE')
      or has_table_privilege('postroom_watch', c.oid, 'DELETE') or has_table_privilege('postroom_watch', c.oid, 'TRUNCATE')
      or has_table_privilege('postroom_watch', c.oid, 'TRIGGER') or has_table_privilege('postroom_watch', c.oid, 'REFERENCES')
      or has_table_privilege('postroom_watch', c.oid, 'MAINTAIN')
      or (has_any_column_privilege('postroom_watch', c.oid, 'SELECT')
        and c.relname not in ('job_minutes', 'org_hours', 'queue_samples', 'failure_groups')))
  union all
  select 'who watches may do more than ask for depths', p.oid::regprocedure::text
  from pg_proc p
  where p.pronamespace = 'postroom'::regnamespace and p.proname <> 'queue_depth' and has_function_privilege('postroom_watch', p.oid, 'EXECUTE')
$$;
grant execute on function postroom.wrong_rights to postroom_ledger;

-- Runs one statement of postroom.secure; one that the owner has no right to is left to an administrator, and doctor names what stays.
create or replace procedure postroom.try_to(statement text)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  execute statement;
exception when insufficient_privilege then
  raise notice 'only a superuser can: %', statement;
end
$$;

-- Revokes and resets what handlers must not have, whoever granted or set it.
create or replace procedure postroom.secure()
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  statement text;
begin
  for statement in
    select format('alter routine %s set search_path = pg_catalog, public, pg_temp', p.oid::regprocedure)
    from pg_proc p
    where p.pronamespace = 'postroom'::regnamespace and p.prosecdef
      and not coalesce('search_path=pg_catalog, public, pg_temp' = any (p.proconfig), false)
    union all
    select format('revoke execute on routine %s from public', p.oid::regprocedure)
    from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
    where p.pronamespace = 'postroom'::regnamespace and a.grantee = 0
    union all
    select format('revoke temporary, create on database %I from public, postroom_ledger, postroom_tenant, postroom_auditor, postroom_watch, postroom_hooks', current_database())
    union all
    select 'revoke create on schema public, postroom from public, postroom_ledger, postroom_tenant, postroom_auditor, postroom_watch, postroom_hooks'
    union all
    select format('revoke %s from %s', m.roleid::regrole, m.member::regrole)
    from pg_auth_members m
    where m.member::regrole::text in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
      and (m.member::regrole::text, m.roleid::regrole::text) not in (('postroom_hooks', 'postroom_tenant'), ('postroom_hooks', 'postroom_auditor'))
    union all
    select case when d.setdatabase = 0 then format('alter role %s reset all', d.setrole::regrole)
      else format('alter role %s in database %I reset all', d.setrole::regrole, b.datname) end
    from pg_db_role_setting d left join pg_database b on b.oid = d.setdatabase
    where d.setrole::regrole::text in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
    union all
    select format('alter role %I nosuperuser nocreaterole nocreatedb noreplication nobypassrls', r.rolname)
    from pg_roles r
    where r.rolname in ('postroom_ledger', 'postroom_tenant', 'postroom_auditor', 'postroom_watch', 'postroom_hooks')
      and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)
    union all
    select 'alter role postroom_hooks nologin' from pg_roles r where r.rolname = 'postroom_hooks' and r.rolcanlogin
    union all
    -- A handler's block of code could catch the time-out that ends it.
    select format('revoke usage on language %I from public', l.lanname)
    from pg_language l where l.lanpltrusted and has_language_privilege('postroom_tenant', l.oid, 'USAGE')
    union all
    select format('revoke execute on function pg_catalog.%s from public, %I', f.signature, r.name)
    from postroom.closed_functions() f cross join unnest(array['postroom_tenant', 'postroom_auditor', 'postroom_watch']) as r (name)
    where to_regprocedure(f.signature) is not null and has_function_privilege(r.name, to_regprocedure(f.signature), 'EXECUTE')
    union all
    select format('grant execute on function pg_catalog.%s to postroom_ledger', f.signature)
    from postroom.closed_functions() f
    where f.is_for_engine
    union all
    -- For postroom.end_old_sessions alone, which postroom_hooks owns; nobody logs in as that role.
    select 'grant execute on function pg_catalog.pg_terminate_backend(integer,bigint), pg_catalog.pg_stat_get_activity(integer) to postroom_hooks'
    union all
    -- Who watches the server sees it as before.
    select 'grant execute on function pg_catalog.pg_stat_get_activity(integer) to pg_read_all_stats'
  loop
    call postroom.try_to(statement);
  end loop;
end
$$;
