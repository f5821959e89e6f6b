-- Erasure: what a table says of its rows, who is refused meanwhile, and how a person is taken out of words (docs: erase-a-person.md).

-- Says what becomes of a table's rows. By default those of an org go with it, those of a person (by user_id) and of their mailboxes (by
-- account_id) go with the person, and the person is taken out of the words of all others. `person_rows`: which are the person's besides.
-- `refuses_new`: for tables in which something new about an org or a person begins; no row of one who is being erased comes in.
create or replace procedure postroom.erasure_rule(
  target regclass, org_rows text default 'org_id = the.org', org_keeps jsonb default null, person_rows text default null,
  person_keeps jsonb default null, is_searched boolean default true, bytes text[] default '{}', refuses_new boolean default false)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if org_rows is not null then
    select nullif(concat_ws(' or ', person_rows, string_agg(
      case a.attname when 'user_id' then 'user_id = the.person' else 'account_id = any (the.accounts)' end, ' or ' order by a.attnum)), '')
    into person_rows
    from pg_attribute a where a.attrelid = target and a.attname in ('user_id', 'account_id');
  end if;
  insert into public.erasure_rules as r (table_name, org_rows, org_keeps, person_rows, person_keeps, is_searched, bytes)
  values (target::text, org_rows, org_keeps, person_rows, person_keeps, is_searched, bytes)
  on conflict (table_name) do update set org_rows = excluded.org_rows, org_keeps = excluded.org_keeps, person_rows = excluded.person_rows,
    person_keeps = excluded.person_keeps, is_searched = excluded.is_searched, bytes = excluded.bytes;
  if refuses_new then
    execute format('create or replace trigger %I before insert on %s for each row execute function postroom.refuse_erased()',
      target || '_of_nobody_erased', target);
  end if;
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
