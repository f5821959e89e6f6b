-- How an org leaves a ledger and comes into another: statements that whoever owns both runs (docs/explanation/cells.md).

-- Statements for each table that has rows of an org, by the rule that says which these are (postroom.erasure_rule), in the order of the references:
--   leave: sends the rows away, and deletes them; what refers to a row must have left before.
--   stage, take, arrive: make a table for what comes, take it in, and put it in its place. Numbers of rows are the new ledger's, in the old order.
--   remove: deletes the rows.
--   sums: how many rows there are, and a sum over all that comes along unchanged.
-- Which accounts are the org's is said once, for they leave before what names them.
create or replace function postroom.moving_statements(of_org uuid)
returns table (name text, columns text, leave text, stage text, take text, arrive text, remove text, sums text)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  with the as (
    select format('(select %L::uuid as org, null::uuid as person, %L::uuid[] as accounts, null::text[] as addresses, null::text as ids) as the',
      of_org, (select coalesce(array_agg(a.id), '{}') from accounts a where a.org_id = of_org)) as "row"
  ), parts as (
    select r.table_name, r.number, r.org_rows,
      string_agg(quote_ident(a.attname), ', ' order by a.attnum) as whole,
      string_agg(quote_ident(a.attname), ', ' order by a.attnum) filter (where a.attidentity = '') as placed,
      -- The number of another row, which has a new one here.
      string_agg(case when (r.table_name, a.attname) = ('audit_details', 'event_id') then 'n.number' else format('s.%I', a.attname) end, ', '
        order by a.attnum) filter (where a.attidentity = '') as given,
      string_agg(format('t.%I', a.attname), ', ' order by a.attnum) filter (where a.attidentity = ''
        and (r.table_name, a.attname) not in (('audit_details', 'event_id'), ('jobs', 'foreign_at'))) as summed,
      max(format('s.%I', a.attname)) filter (where a.attidentity <> '') as numbered
    from erasure_rules r join pg_attribute a on a.attrelid = to_regclass(r.table_name)
    where r.org_rows is not null and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by r.table_name, r.number, r.org_rows
  )
  select p.table_name, p.whole,
    format('copy (delete from %s t using %s where %s returning %s) to stdout (format binary)', p.table_name, t."row", p.org_rows,
      't.' || replace(p.whole, ', ', ', t.')),
    format('create temporary table %I on commit drop as select %s from %s with no data', 'moving_' || p.table_name, p.whole, p.table_name),
    format('copy pg_temp.%I (%s) from stdin (format binary)', 'moving_' || p.table_name, p.whole),
    format('insert into %s (%s) select %s from pg_temp.%I s%s%s', p.table_name, p.placed, p.given, 'moving_' || p.table_name,
      case when p.table_name = 'audit_details' then format($join$ join (
        select was.id as old, is_now.id as number
        from (select id, row_number() over (order by id) as nth from pg_temp.moving_audit_entries) as was
        join (select id, row_number() over (order by id) as nth from audit_entries where org_id = %L) as is_now using (nth)
      ) as n on n.old = s.event_id$join$, of_org) else '' end,
      ' order by ' || p.numbered),
    format('delete from %s t using %s where %s', p.table_name, t."row", p.org_rows),
    format($sums$select count(*) as rows, coalesce(sum(('x' || left(md5(row(%s)::text), 15))::bit(60)::bigint), 0) as sum from %s t, %s where %s$sums$,
      p.summed, p.table_name, t."row", p.org_rows)
  from parts p cross join the t
  order by p.number
$$;

-- Tables that no org can leave, and why: nothing says which of their rows are an org's, or a package's own table has a key that this ledger
-- numbers, and another ledger may have given the same number.
create or replace function postroom.tables_that_stay() returns table (name text, reason text)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select t.name, 'has no erasure rule' from postroom.tables_without_rule() as t (name)
  union all
  select r.table_name, format('has a key that this ledger numbers (%I): let it be a UUID', a.attname)
  from erasure_rules r
  join pg_class c on c.oid = to_regclass(r.table_name) and c.relnamespace <> 'public'::regnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where r.org_rows is not null and pg_get_serial_sequence(c.oid::regclass::text, a.attname) is not null
    and exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any (i.indkey))
  order by 1
$$;

-- Keeps by what callers ask for an org that leaves.
create or replace function postroom.name_doors(of_org uuid) returns void
language sql set search_path = pg_catalog, public, pg_temp as $$
  insert into moved_doors (door, org_id)
  select k.prefix, of_org from api_keys k where k.org_id = of_org and k.revoked_at is null
  union select u.id::text, of_org from users u where u.org_id = of_org
  union select f.id::text, of_org from artifacts f where f.org_id = of_org and f.state = 'ready'
  union select of_org::text, of_org
  on conflict do nothing
$$;
