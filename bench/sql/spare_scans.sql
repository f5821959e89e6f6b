-- Drops and remembers the constraints that check for secrets, which would take most of the time of a bulk fill.
do $$
declare
  found record;
begin
  create table spared_scans (holder text, name text, definition text);
  for found in
    select case when contypid <> 0 then 'domain ' || contypid::regtype else 'table ' || conrelid::regclass end as holder,
      conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'c' and (conrelid in ('jobs'::regclass, 'audit_entries'::regclass) or contypid = 'postroom.payload'::regtype)
      and pg_get_constraintdef(oid) like '%carries_secret%'
  loop
    insert into spared_scans values (found.holder, found.name, found.definition);
    execute format('alter %s drop constraint %I', found.holder, found.name);
  end loop;
end
$$
