-- The audit log leaves by exports: what was written to a file, is old enough and is counted may be deleted, by one function alone
-- (docs/explanation/audit-log.md).

-- The files that the log was written to, and how far each is deleted. An export begins where the last one ended, so every entry stands
-- in one file. It is written down before its file is begun, so that a repetition after a crash makes the same file.
create table audit_exports (
  -- Of the entries with after_id < id <= upto_id.
  upto_id bigint primary key,
  after_id bigint not null unique,
  begun_at timestamptz not null default now(),
  -- Null until the file is on its disk.
  exported_at timestamptz,
  events bigint check (events >= 0),
  entries bigint,
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  -- The newest of its entries; null when there were none, for a transaction that is rolled back leaves numbers unused.
  newest_at timestamptz,
  deleted bigint not null default 0,
  -- Which blocks of the table are still to be looked through for its entries, and which were and keep some: of jobs that live. A row
  -- never moves, but for a rewrite of the whole table, which gives it another file.
  to_look_at int8multirange,
  keeping int8multirange not null default '{}',
  table_file oid,
  look_from timestamptz not null default now(),
  emptied_at timestamptz,
  constraint range_has_numbers check (after_id >= 0 and upto_id > after_id),
  constraint exported_with_checksum check (num_nonnulls(exported_at, events, entries, sha256, to_look_at, table_file) in (0, 6)),
  constraint emptied_when_exported check (emptied_at is null or exported_at is not null)
);
create index audit_exports_to_empty on audit_exports (upto_id) where exported_at is not null and emptied_at is null;
create unique index audit_exports_begun on audit_exports ((true)) where exported_at is null;
grant select on audit_exports to postroom_ledger;

-- The newest entry that every export before it has written to its file as well.
create function postroom.audit_exported_to() returns bigint
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(max(upto_id), 0) from public.audit_exports where exported_at is not null
$$;
grant execute on function postroom.audit_exported_to() to postroom_ledger;

-- The blocks that hold the entries between two numbers, in groups of 32, as many as the index by number summarizes in one.
create function postroom.audit_blocks(after bigint, upto bigint) returns int8multirange
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(range_agg(int8range(part * 32, part * 32 + 32)), '{}')
  from (
    select distinct (e.ctid::text::point)[0]::bigint / 32 as part from public.audit_entries e where e.id > after and e.id <= upto
  ) as parts
$$;

-- Begins the export of the next entries, up to a number; or returns the one that was begun and not finished.
create function postroom.begin_audit_export(upto bigint) returns public.audit_exports
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  begun public.audit_exports;
begin
  -- One export begins at a time.
  lock table public.audit_exports in share row exclusive mode;
  select * into begun from public.audit_exports x where x.exported_at is null;
  if found then
    return begun;
  end if;
  if upto > (select last_value from public.audit_entries_id_seq) then
    raise exception 'upto: % is no entry''s number yet', upto using errcode = 'PR002';
  end if;
  insert into public.audit_exports (after_id, upto_id) values (postroom.audit_exported_to(), upto) returning * into begun;
  return begun;
end
$$;
grant execute on function postroom.begin_audit_export(bigint) to postroom_ledger;

-- Holds an unfinished export until the transaction's end; false when another process writes it or has written it.
create function postroom.hold_audit_export(upto bigint) returns boolean
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select count(*) > 0 from (
    select from public.audit_exports x where x.upto_id = upto and x.exported_at is null for no key update skip locked
  ) as held
$$;
grant execute on function postroom.hold_audit_export(bigint) to postroom_ledger;

-- Writes down that the file of an export is on its disk. What it says never changes again.
create function postroom.finish_audit_export(upto bigint, written bigint, checksum text) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update public.audit_exports x
  set exported_at = clock_timestamp(), events = written, sha256 = checksum, to_look_at = postroom.audit_blocks(x.after_id, x.upto_id),
    table_file = pg_relation_filenode('public.audit_entries'),
    (entries, newest_at) = (
      select count(*), max(e.at) from public.audit_entries e where e.id > x.after_id and e.id <= x.upto_id)
  where x.upto_id = upto and x.exported_at is null;
  if not found then
    raise exception 'upto: no export up to % was begun', upto using errcode = 'PR002';
  end if;
end
$$;
grant execute on function postroom.finish_audit_export(bigint, bigint, text) to postroom_ledger;
