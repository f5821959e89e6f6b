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

-- Erases what stands on some pages of a table, for an erasure that is under way; returns how many rows have changed or gone. `patterns` and
-- `instead`: what the person is found by, and what comes in its place; `loose` finds at least all of that in any text, and `identity` all of it
-- but names.
create or replace function postroom.erase_rows(
  of_erasure uuid, from_table text, first_page bigint, pages integer, patterns text[], instead text[], loose text, identity text)
returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp
set postroom.deletes_audit = 'on' as $$
declare
  erasure record;
  rule record;
  the constant text := '(select $1::uuid as org, $2::uuid as person, $3::uuid[] as accounts, $4::text[] as addresses, $5::text as ids,
    $6::text[] as patterns, $7::text[] as instead) as the';
  part text;
  keys text;
  changes text;
  differs text;
  mentions text;
  done bigint := 0;
  gone bigint;
  statement text;
begin
  select e.* into erasure from public.erasures e where e.id = of_erasure and e.finished_at is null;
  if not found then
    perform postroom.refuse('erasure', 'is not under way');
  end if;
  select r.* into rule from public.erasure_rules r where r.table_name = from_table;
  if rule.org_rows is null then
    return 0;
  end if;
  part := format('t.ctid >= ''(%s,0)'' and t.ctid < ''(%s,0)'' and (%s)', first_page, first_page + pages, rule.org_rows);
  for statement in
    select postroom.erasing_statement(from_table, the, part, rule.org_keeps)
    where erasure.subject = 'org' and rule.org_keeps is distinct from '{}'
    union all
    select postroom.erasing_statement(from_table, the, part || format(' and (%s)', rule.person_rows), rule.person_keeps)
    where erasure.subject = 'user' and rule.person_rows is not null
    union all
    select format('update %1$s t set %2$I = null from %3$s where %4$s and encode(t.%2$I, ''escape'') collate "pg_c_utf8" ~* $8', from_table, b, the, part)
    from unnest(rule.bytes) as b where erasure.subject = 'user'
  loop
    execute statement using erasure.org_id, erasure.person_id, erasure.accounts, erasure.addresses, erasure.ids, patterns, instead, loose,
      identity;
    get diagnostics gone = row_count;
    done := done + gone;
  end loop;
  if erasure.subject = 'org' or not rule.is_searched then
    return done;
  end if;
  -- A row goes whose key has an id, a number or an address of the person; of all others the person is taken out. People and mailboxes go by
  -- their ids alone: an address by which one is known is another's, whatever it looks like.
  select string_agg(format('t.%s collate "pg_c_utf8" ~* $9', c.name), ' or ') filter (where c.is_key and c.kind = 'text'),
    string_agg(format('%s = %s', c.name, f.call), ', '),
    string_agg(format('t.%s is distinct from %s', c.name, f.call), ' or '),
    format('concat_ws('' '', %s) collate "pg_c_utf8" ~* $8', string_agg('t.' || c.name || '::text', ', '))
  into keys, changes, differs, mentions
  from postroom.word_columns(from_table::regclass) as c
  cross join lateral (select format(case c.kind when 'text' then 'postroom.without_marks(t.%s, $6, $7)'
    when 'jsonb' then 'postroom.document_without_marks(t.%s::text::json, $6, $7)::jsonb'
    when 'json' then 'postroom.document_without_marks(t.%s::json, $6, $7)'
    else 'postroom.list_without_marks(t.%s, $6, $7)' end, c.name) as call) as f
  where not (c.is_key and from_table in ('users', 'accounts'));
  for statement in
    select format('delete from %s t using %s where %s and %s and (%s)', from_table, the, part, mentions, keys) where keys is not null
    union all
    select format('update %s t set %s from %s where %s and %s and (%s)', from_table, changes, the, part, mentions, differs) where changes is not null
  loop
    execute statement using erasure.org_id, erasure.person_id, erasure.accounts, erasure.addresses, erasure.ids, patterns, instead, loose,
      identity;
    get diagnostics gone = row_count;
    done := done + gone;
  end loop;
  return done;
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
