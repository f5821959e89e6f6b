-- The deeds of an erasure, a part of a table at a time, by the rules of the tables (docs: erase-a-person.md).

-- The columns of a table in which words stand, and which of them a unique key is made of. A column whose values are listed, or have a form,
-- has no words. A text that must be JSON is of the kind `json`.
create or replace function postroom.word_columns(of_table regclass) returns table (name text, kind text, is_key boolean)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select quote_ident(a.attname),
    case when exists (
      select from pg_constraint c
      where c.contype = 'c' and c.conrelid = a.attrelid and c.conkey = array[a.attnum] and pg_get_constraintdef(c.oid) ~ ' IS JSON'
    ) then 'json' else format_type(coalesce(nullif(y.typbasetype, 0), y.oid), null) end,
    exists (select from pg_index i where i.indrelid = a.attrelid and i.indisunique and a.attnum = any (i.indkey))
  from pg_attribute a join pg_type y on y.oid = a.atttypid
  where a.attrelid = of_table and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and coalesce(nullif(y.typbasetype, 0), y.oid) in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)
    and (coalesce(nullif(y.typbasetype, 0), y.oid) <> 'text'::regtype or not exists (
      select from pg_constraint c
      where c.contype = 'c' and ((c.conrelid = a.attrelid and c.conkey = array[a.attnum]) or (c.contypid = y.oid and y.typtype = 'd'))
        and pg_get_constraintdef(c.oid) ~ '= ANY|<> ALL|= ''| ~ '))
$$;

-- Tables that have a fence and no erasure rule, such as a package's own. As the owner: the ledger's role may not look a name up in every schema.
create or replace function postroom.tables_without_rule() returns setof text
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select p.polrelid::regclass::text
  from pg_policy p
  where p.polname = 'tenant_own' and not exists (select from erasure_rules r where to_regclass(r.table_name) = p.polrelid)
  order by 1
$$;
grant execute on function postroom.tables_without_rule to postroom_ledger;

-- Erases in a table from a row on, page by page, for an erasure that is under way, until `most` has passed, but one row at least. So a transaction
-- lasts no longer than `most` and the work of one row. Returns how many rows have changed or gone, from which row the erasure goes on, and why
-- rows of a page were left: something refers to one, or has the key that it would get. `patterns` and `instead`: what the person is found by, and
-- what comes in its place; `loose` finds at least all of that in any text, and `identity` all of it but names.
create or replace function postroom.erase_rows(
  of_erasure uuid, from_table text, first tid, pages bigint, most interval, patterns text[], instead text[], loose text, identity text,
  out rows bigint, out next tid, out blocked text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp
set postroom.deletes_audit = 'on' as $$
declare
  ends_at timestamptz := clock_timestamp() + most;
  erasure record;
  rule record;
  the constant text := '(select $1::uuid as org, $2::uuid as person, $3::uuid[] as accounts, $4::text[] as addresses, $5::text as ids,
    $8::text[] as patterns, $9::text[] as instead) as the';
  part text;
  by_rule text[];
  query text;
  finding text;
  reading text;
  changing text;
  page bigint;
  after tid;
  found tid[];
  before bigint;
  gone bigint;
  one record;
begin
  rows := 0;
  select e.* into erasure from public.erasures e where e.id = of_erasure and e.finished_at is null;
  select r.* into rule from public.erasure_rules r where r.table_name = from_table;
  if erasure is null or rule.org_rows is null then
    return; -- somebody else has finished it
  end if;
  part := format('t.ctid >= $6 and t.ctid < $7 and (%s)', rule.org_rows);
  by_rule := array(
    select postroom.erasing_statement(from_table, the, part, rule.org_keeps)
    where erasure.subject = 'org' and rule.org_keeps is distinct from '{}'
    union all
    select postroom.erasing_statement(from_table, the, part || format(' and (%s)', rule.person_rows), rule.person_keeps)
    where erasure.subject = 'user' and rule.person_rows is not null);
  if erasure.subject = 'user' then
    select s.finding, s.reading, s.changing into finding, reading, changing
    from postroom.searching_statements(from_table, rule.bytes, the, part) as s;
  end if;
  for page in select generate_series((first::text::point)[0]::bigint, pages - 1) loop
    after := format('(%s,0)', page + 1)::tid;
    before := rows;
    begin
      foreach query in array by_rule loop
        execute query
          using erasure.org_id, erasure.person_id, erasure.accounts, erasure.addresses, erasure.ids, first, after, patterns, instead;
        get diagnostics gone = row_count;
        rows := rows + gone;
      end loop;
      found := null;
      if finding is not null then
        execute finding into found
          using erasure.org_id, erasure.person_id, erasure.accounts, erasure.addresses, erasure.ids, first, after, patterns, instead, loose;
      end if;
      for place in 1 .. coalesce(cardinality(found), 0) loop
        execute reading into one using found[place], patterns, instead, loose, identity;
        if one.at is null then
          rows := rows + 1; -- somebody has changed it meanwhile: another pass finds what it is now
        elsif one.goes then
          execute format('delete from %s t where t.ctid = $1', from_table) using one.at;
          rows := rows + 1;
        elsif one.new is distinct from one.old then
          execute changing using one.at, one.new;
          rows := rows + 1;
        end if;
        next := found[place + 1];
        if next is not null and clock_timestamp() >= ends_at then
          return;
        end if;
      end loop;
    exception when foreign_key_violation or restrict_violation or unique_violation then
      get stacked diagnostics blocked = pg_exception_detail;
      rows := before;
    end;
    first := after;
    next := case when page + 1 < pages then after end;
    if clock_timestamp() >= ends_at then
      return;
    end if;
  end loop;
end
$$;
grant execute on function postroom.erase_rows to postroom_ledger;

-- Deletes rows, or gives them the values that a rule names, where they have others.
create or replace function postroom.erasing_statement(of_table text, the text, part text, keeps jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when keeps is null then format('delete from %s t using %s where %s', of_table, the, part) else (
    select format('update %s t set %s from %s where %s and (%s)', of_table, string_agg(format('%I = %s', k.key, k.value), ', '), the, part,
      string_agg(format('t.%I is distinct from (%s)', k.key, k.value), ' or '))
    from jsonb_each_text(keeps) as k) end
$$;

-- How a person is taken out of the rows of a table: which rows of a part may have them (`finding`); for one of these, by its place, whether it
-- goes, and its words as they are and as they are to be (`reading`); and how it gets these (`changing`). To begin with a pattern costs as much
-- as to go through some thousand letters with it, so short rows are gone through together first. Each value is computed once, and by all patterns
-- only where the loose one finds something. A row goes whose key has an id, a number or an address of the person; of all others
-- the person is taken out, and bytes in which the person is become null. People and mailboxes go by their ids alone: an address by which one is
-- known is another's, whatever it looks like.
create or replace function postroom.searching_statements(
  of_table text, bytes text[], the text, part text, out finding text, out reading text, out changing text)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select format('with row_words as materialized (select t.ctid as at, concat_ws('' '', %s) collate "pg_c_utf8" as words from %s t, %s where %s)'
      ' select array_agg(r.at order by r.at) from row_words r where r.words ~* $10'
      ' and (select sum(length(a.words)) > 1000000 or string_agg(a.words, U&''\FDD0'') ~* $10 from row_words a)',
      string_agg(w.word, ', '), of_table, the, part),
    format('select t.ctid as at, coalesce(%s, false) as goes, array[%s] as old, array[%s] as new from %s t where t.ctid = $1 for no key update',
      coalesce(string_agg(format('t.%s collate "pg_c_utf8" ~* $5', w.name), ' or ') filter (where w.is_key and w.kind = 'text'), 'false'),
      string_agg(format('t.%s::text', w.name), ', ' order by w.place),
      string_agg(format('case when %s collate "pg_c_utf8" ~* $4 then %s else t.%s::text end', w.word, w.call, w.name), ', ' order by w.place),
      of_table),
    format('update %s t set %s where t.ctid = $1', of_table,
      string_agg(format('%s = ($2)[%s]::%s', w.name, w.place, case w.kind when 'json' then 'text' else w.kind end), ', '))
  from (select every.*, row_number() over (order by every.number) as place from (
    select c.name, c.kind, c.is_key, format('t.%s::text', c.name) as word, row_number() over () as number,
      format(case c.kind when 'text' then 'postroom.without_marks(t.%s, $2, $3)'
        when 'text[]' then 'postroom.list_without_marks(t.%s, $2, $3)::text'
        else 'postroom.document_without_marks(t.%s::text::json, $2, $3)' end, c.name) as call
    from postroom.word_columns(of_table::regclass) as c
    where not (c.is_key and of_table in ('users', 'accounts'))
    union all
    select quote_ident(b), 'bytea', false, format('encode(t.%I, ''escape'')', b), -n, 'null'
    from unnest(bytes) with ordinality as b (b, n)
  ) as every) as w
  having count(*) > 0
$$;
