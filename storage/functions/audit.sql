-- The audit log: who may append, and the one way in which entries leave it (docs/explanation/audit-log.md).

-- Appends an event about a held job, with the job's own context. Raises PR001 when the claim is lost, and 42501 for an event that its
-- type does not list.
create or replace function postroom.append_event(held_job uuid, held_token uuid, what text, facts jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform postroom.hold_claim(held_job, held_token);
  insert into public.audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  select what, j.org_id, j.project_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id, j.id, j.job_type, j.attempt, facts
  from public.jobs j join public.job_types t on t.name = j.job_type
  where j.id = held_job and what = any (t.audits);
  if not found then
    raise exception 'event: % is not listed by the job''s type', what using errcode = '42501';
  end if;
end
$$;
grant execute on function postroom.append_event to postroom_ledger, postroom_tenant;

-- Refuses every change of the audit log, but for postroom.erase_rows: the fact stays, and whom it was about is taken out.
create or replace function postroom.refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and coalesce(current_setting('postroom.deletes_audit', true), '') = 'on' then
    return new;
  end if;
  raise exception 'the audit log is append-only' using errcode = '42501';
end
$$;
create or replace trigger audit_entries_append_only before update on audit_entries
  for each row execute function postroom.refuse_change();
create or replace trigger audit_entries_no_truncate before truncate on audit_entries
  for each statement execute function postroom.refuse_change();

-- Whether an entry before this one says that the same attempt of the job failed: a job that dies by a failure has both.
create or replace function postroom.failure_is_told(of_job uuid, of_attempt smallint, before_id bigint) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select exists (
    select from public.audit_entries f where f.job_id = of_job and f.event = 'job.failed' and f.attempt = of_attempt and f.id < before_id)
$$;
grant execute on function postroom.failure_is_told to postroom_ledger;

-- The newest entry that every export before it has written to its file as well.
create or replace function postroom.audit_exported_to() returns bigint
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(max(upto_id), 0) from public.audit_exports where exported_at is not null
$$;
grant execute on function postroom.audit_exported_to to postroom_ledger;

-- The blocks that hold the entries between two numbers, in groups of 32, as many as the index by number summarizes in one.
create or replace function postroom.audit_blocks(after bigint, upto bigint) returns int8multirange
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(range_agg(int8range(part * 32, part * 32 + 32)), '{}')
  from (
    select distinct (e.ctid::text::point)[0]::bigint / 32 as part from public.audit_entries e where e.id > after and e.id <= upto
  ) as parts
$$;

-- Begins the export of the next entries, up to a number; or returns the one that was begun and not finished.
create or replace function postroom.begin_audit_export(upto bigint) returns public.audit_exports
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
grant execute on function postroom.begin_audit_export to postroom_ledger;

-- Holds an unfinished export until the transaction's end; false when another process writes it or has written it.
create or replace function postroom.hold_audit_export(upto bigint) returns boolean
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select count(*) > 0 from (
    select from public.audit_exports x where x.upto_id = upto and x.exported_at is null for no key update skip locked
  ) as held
$$;
grant execute on function postroom.hold_audit_export to postroom_ledger;

-- Writes down that the file of an export is on its disk. What it says never changes again.
create or replace function postroom.finish_audit_export(upto bigint, written bigint, checksum text) returns void
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
grant execute on function postroom.finish_audit_export to postroom_ledger;

-- Refuses a deletion that does not come from postroom.delete_audit_entries or postroom.erase_rows, for whoever asks.
create or replace function postroom.refuse_deletion() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if coalesce(current_setting('postroom.deletes_audit', true), '') <> 'on' then
    raise exception 'the audit log is append-only' using errcode = '42501';
  end if;
  return null;
end
$$;
create or replace trigger audit_entries_no_deletion before delete on audit_entries
  for each statement execute function postroom.refuse_deletion();

-- Refuses that function, too, an entry that no file has or that is not counted. An entry that moves with its org stands in another ledger.
create or replace function postroom.refuse_unexported() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if not postroom.is_moving() and (select max(id) from gone) > least(postroom.audit_exported_to(), (select counted_to from public.counting)) then
    raise exception 'the audit log keeps what is not exported and counted' using errcode = '42501';
  end if;
  return null;
end
$$;
create or replace trigger audit_entries_exported_first after delete on audit_entries referencing old table as gone
  for each statement execute function postroom.refuse_unexported();

-- Details say what an entry changed, so they leave in the statement that deletes it.
create or replace function postroom.drop_details() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  delete from public.audit_details d using gone g where d.org_id = g.org_id and d.event_id = g.id and g.event = 'run_sheet.changed';
  return null;
end
$$;
create or replace trigger audit_entries_take_details_along after delete on audit_entries referencing old table as gone
  for each statement execute function postroom.drop_details();
create or replace trigger audit_details_append_only before update on audit_details
  for each row execute function postroom.refuse_change();
create or replace trigger audit_details_no_truncate before truncate on audit_details
  for each statement execute function postroom.refuse_change();
create or replace trigger audit_details_no_deletion before delete on audit_details
  for each statement execute function postroom.refuse_deletion();

-- Deletes the entries of one export in the next blocks, at least `most` of these where there are so many, and returns how many entries.
-- The export's entries must all be older than `keep_for`, and counted. The entries of a job leave when its row has left the ledger, and
-- none of them is younger, not exported or not counted. `more` says whether to call again at once.
-- By blocks, because a block-range index forgets no number: once new entries stand where old ones stood, it excludes nothing.
-- The looks at a job are subqueries that are asked row by row, for an EXISTS may be answered by a scan of everything.
create or replace function postroom.delete_audit_entries(keep_for interval, most integer, out deleted bigint, out more boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set plan_cache_mode = force_custom_plan
set postroom.deletes_audit = 'on' as $$
declare
  export public.audit_exports;
  ended_before constant timestamptz := now() - keep_for;
  upto constant bigint := least(postroom.audit_exported_to(), (select c.counted_to from public.counting c));
  part int8range;
  seen bigint := 0;
  gone bigint;
begin
  deleted := 0;
  more := false;
  -- Keeps a rewrite out, which would move the entries.
  lock table public.audit_entries in row exclusive mode;
  select * into export from public.audit_exports x
  where x.exported_at is not null and x.emptied_at is null and x.look_from <= now() and x.upto_id <= upto
    and (x.newest_at is null or x.newest_at < ended_before)
  order by x.upto_id limit 1 for no key update skip locked;
  if not found then
    return;
  end if;
  if export.table_file <> pg_relation_filenode('public.audit_entries') then
    -- The table was rewritten, and its index with it, which finds the blocks again.
    export.to_look_at := postroom.audit_blocks(export.after_id, export.upto_id);
    export.keeping := '{}';
  end if;
  while seen < most and not isempty(export.to_look_at) loop
    part := int8range(lower(export.to_look_at), lower(export.to_look_at) + 32);
    delete from public.audit_entries e
    where e.ctid >= format('(%s,0)', lower(part))::tid and e.ctid < format('(%s,0)', upper(part))::tid
      and e.id > export.after_id and e.id <= export.upto_id
      and (e.job_id is null or (
        (select j.id from public.jobs j where j.id = e.job_id) is null
        and (select l.job_id from public.audit_entries l
          where l.job_id = e.job_id and (l.id > upto or l.at >= ended_before) limit 1) is null));
    get diagnostics gone = row_count;
    deleted := deleted + gone;
    if exists (
      select from public.audit_entries e
      where e.ctid >= format('(%s,0)', lower(part))::tid and e.ctid < format('(%s,0)', upper(part))::tid
        and e.id > export.after_id and e.id <= export.upto_id
    ) then
      export.keeping := export.keeping + int8multirange(part);
    end if;
    export.to_look_at := export.to_look_at - int8multirange(part);
    seen := seen + 32;
  end loop;
  if isempty(export.to_look_at) and isempty(export.keeping) and export.deleted + delete_audit_entries.deleted < export.entries then
    -- A restore has moved them without a new file. Found by the index, or gone by other hands.
    export.to_look_at := postroom.audit_blocks(export.after_id, export.upto_id);
  end if;
  update public.audit_exports x
  set deleted = x.deleted + delete_audit_entries.deleted,
    table_file = pg_relation_filenode('public.audit_entries'),
    to_look_at = case when isempty(export.to_look_at) then export.keeping else export.to_look_at end,
    keeping = case when isempty(export.to_look_at) then '{}' else export.keeping end,
    -- What stays belongs to jobs that live: most of them for longer than an hour.
    look_from = case when isempty(export.to_look_at) then now() + interval '1 day' else x.look_from end,
    emptied_at = case when isempty(export.to_look_at) and isempty(export.keeping) then now() end
  where x.upto_id = export.upto_id;
  more := true;
end
$$;
grant execute on function postroom.delete_audit_entries to postroom_ledger;
