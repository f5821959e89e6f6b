-- Erasure: what a table says of its rows, who is refused meanwhile, and how a person is taken out of words (docs: erase-a-person.md).

-- Says what becomes of a table's rows. By default those of an org go with it, those of a person (by user_id) and of their mailboxes (by
-- account_id) go with the person, and the person is taken out of the words of all others. `person_rows`: which are the person's besides.
-- `refuses_new`: for tables in which something new about an org or a person begins; no row of one who is being erased comes in.
create or replace procedure postroom.erasure_rule(
  target regclass, org_rows text default 'org_id = the.org', org_keeps jsonb default null, person_rows text default null,
  person_keeps jsonb default null, bytes text[] default '{}', refuses_new boolean default false)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  keys text;
  differ text;
begin
  if org_rows is not null then
    select nullif(concat_ws(' or ', person_rows, string_agg(
      case a.attname when 'user_id' then 'user_id = the.person' else 'account_id = any (the.accounts)' end, ' or ' order by a.attnum)), '')
    into person_rows
    from pg_attribute a where a.attrelid = target and a.attname in ('user_id', 'account_id');
  end if;
  insert into public.erasure_rules as r (table_name, org_rows, org_keeps, person_rows, person_keeps, bytes)
  values (target::text, org_rows, org_keeps, person_rows, person_keeps, bytes)
  on conflict (table_name) do update set org_rows = excluded.org_rows, org_keeps = excluded.org_keeps, person_rows = excluded.person_rows,
    person_keeps = excluded.person_keeps, bytes = excluded.bytes;
  -- Whoever erases finds the table by its name.
  execute format('grant usage on schema %s to postroom_ledger', (select c.relnamespace::regnamespace from pg_class c where c.oid = target));
  if refuses_new then
    execute format('create or replace trigger %I before insert on %s for each row execute function postroom.refuse_erased()',
      target || '_of_nobody_erased', target);
  end if;
  select string_agg(distinct quote_ident(a.attname), ', '), string_agg(distinct format('old.%1$I <> new.%1$I', a.attname), ' or ')
  into keys, differ
  from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) join pg_type y on y.oid = a.atttypid
  where i.indrelid = target and i.indisunique and y.typcategory = 'S';
  if org_rows is not null and keys is not null then
    execute format('create or replace trigger %I before update of %s on %s for each row
      when ((%s) and current_setting(''postroom.deletes_audit'', true) = ''on'') execute function postroom.tell_apart()',
      target || '_stay_apart', keys, target, differ);
  end if;
end
$$;

-- Tells a key that an erasure changes from one that is there already: its end becomes something that no other key has. The row stays: without
-- its guard, an effect would happen again.
create or replace function postroom.tell_apart() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  was jsonb := to_jsonb(old);
  unique_key record;
  is_there boolean;
begin
  for unique_key in
    select array_agg(a.attname) filter (where y.typcategory = 'S') as words,
      string_agg(format(case when i.indnullsnotdistinct then 't.%1$I is not distinct from $1.%1$I' else 't.%1$I = $1.%1$I' end, a.attname), ' and ')
        || coalesce(' and ' || pg_get_expr(i.indpred, i.indrelid), '') as same
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) join pg_type y on y.oid = a.atttypid
    where i.indrelid = tg_relid and i.indisunique
    group by i.indexrelid, i.indrelid, i.indpred
    having bool_or(y.typcategory = 'S')
  loop
    execute format('select exists (select from %s t where %s)', tg_relid::regclass, unique_key.same) into is_there using new;
    if is_there then
      new := jsonb_populate_record(new, (
        select jsonb_object_agg(k.name, left(n.facts ->> k.name, greatest(length(was ->> k.name), 40) - 13) || '-' || right(gen_random_uuid()::text, 12))
        from unnest(unique_key.words) as k (name), to_jsonb(new) as n (facts)
        where n.facts -> k.name <> was -> k.name));
    end if;
  end loop;
  return new;
end
$$;

-- Refuses a row of an org, or of a person, that is being erased; an org stays so.
create or replace function postroom.refuse_erased() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from public.orgs o where o.id = new.org_id and o.erasing_since is not null) then
    perform postroom.refuse('org_id', 'names an org that is erased');
  elsif exists (
    select from public.users u where u.id = (to_jsonb(new) ->> 'user_id')::uuid and u.org_id = new.org_id and u.erasing_since is not null)
  then
    perform postroom.refuse('user_id', 'names a person who is being erased');
  end if;
  return new;
end
$$;

-- Makes a table's statistics anew where they have a person's values, as `loose` finds them; of an org that is erased, in any case. An empty
-- table keeps none: PostgreSQL would leave the old ones.
create or replace function postroom.forget_statistics(of_erasure uuid, from_table text, loose text) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  of_table regclass := to_regclass(from_table);
  its_schema text;
  its_name text;
  known_columns text[];
begin
  if not exists (select from public.erasures e where e.id = of_erasure and e.finished_at is null)
    or not exists (select from public.erasure_rules r where r.table_name = from_table and r.org_rows is not null)
  then
    perform postroom.refuse('erasure', 'is not under way');
  end if;
  select n.nspname, c.relname into its_schema, its_name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = of_table;
  select array_agg(s.attname::text) into known_columns
  from pg_stats s
  where s.schemaname = its_schema and s.tablename = its_name
    and (exists (select from public.erasures e where e.id = of_erasure and e.subject = 'org')
      or concat_ws(' ', s.most_common_vals, s.histogram_bounds, s.most_common_elems) collate "pg_c_utf8" ~* loose);
  if known_columns is not null then
    perform pg_clear_attribute_stats(its_schema, its_name, c.name, false) from unnest(known_columns) as c (name);
    execute format('analyze %s', of_table);
  end if;
end
$$;
grant execute on function postroom.forget_statistics to postroom_ledger;

-- A text without what the patterns find in it, regardless of case and of the database's locale; each has something in its place,
-- behind the pattern's first group.
create or replace function postroom.without_marks(words text, patterns text[], instead text[]) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
  for i in 1 .. cardinality(patterns) loop
    words := regexp_replace(words collate "pg_c_utf8", patterns[i], '\1' || instead[i], 'gi');
  end loop;
  return words;
end
$$;

grant execute on function postroom.without_marks to postroom_ledger;

create or replace function postroom.list_without_marks(words text[], patterns text[], instead text[]) returns text[]
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(postroom.without_marks(w.word, patterns, instead) order by w.place), '{}')
  from unnest(words) with ordinality as w (word, place)
$$;

-- The same for a document: in its names, texts and numbers; a number that has one becomes 0. As a text, in which all else is as it was, to the
-- letter. All words are gone through at once, for each use of a pattern costs more than a short word: between two of them are signs that
-- are in no text and end a word, and such a sign that is in a word has another behind it meanwhile. Names that become the same are numbered.
create or replace function postroom.document_without_marks(document json, patterns text[], instead text[]) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
  with pieces as materialized (
    select m.found[1] as piece, m.n, left(m.found[1], 1) = '"' as is_text, left(m.found[1], 1) ~ '["0-9-]' as has_words,
      lead(m.found[1]) over (order by m.n) ~ '^\s*:' as is_name
    from regexp_matches(document::text, '"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[^"0-9-]+', 'g') with ordinality as m (found, n)
  ), words as materialized (
    select p.n, p.is_text, p.is_name, case when p.is_text then p.piece::json #>> '{}' else p.piece end as word from pieces p where p.has_words
  ), without as (
    select array_agg(w.n order by w.n) as places, string_to_array(postroom.without_marks(string_agg(
      replace(w.word, U&'\FDD0', U&'\FDD0\FDD2'), U&'\FDD0\FDD1' order by w.n), patterns, instead), U&'\FDD0\FDD1') as words
    from words w
  ), changed as (
    select w.n, w.is_text, w.word as before, replace(u.word, U&'\FDD0\FDD2', U&'\FDD0') as word,
      case when w.is_name then dense_rank() over (
        partition by w.is_name, u.word order by replace(u.word, U&'\FDD0\FDD2', U&'\FDD0') <> w.word, w.word) end as nth
    from without o cross join lateral unnest(o.places, o.words) as u (n, word) join words w using (n)
  )
  select string_agg(case when c.n is null or c.word = c.before then p.piece when not c.is_text then '0'
    else to_json(c.word || case when c.nth > 1 then format(' %s', c.nth) else '' end)::text end, '' order by p.n)
  from pieces p left join changed c using (n)
$$;
