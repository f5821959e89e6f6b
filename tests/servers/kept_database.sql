-- What a database of tests needs to go back to its first state: a note of what it had, and of each command that changed
-- its schema. Only the owner sees it.
create schema suite;

create table suite.commands (tag text not null);

create function suite.note_command() returns event_trigger
language plpgsql security definer set search_path = pg_catalog as $$
begin
  insert into suite.commands values (tg_tag);
end
$$;

-- Tables as they began, and copies of those that had rows.
create table suite.tables as
select c.oid::regclass as name, c.reltuples as counted, null::regclass as copy
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r';

do $$
declare
  one suite.tables;
  filled boolean;
begin
  for one in select * from suite.tables where pg_relation_size(name) > 0 loop
    execute format('select exists (select from %s)', one.name) into filled;
    if filled then
      execute format('create table suite.%I as table %s', one.name::text, one.name);
      update suite.tables set copy = format('suite.%I', one.name::text)::regclass where name = one.name;
    end if;
  end loop;
end
$$;

create table suite.sequences as
select seqrelid::regclass as name, seqstart as start, pg_sequence_last_value(seqrelid) as last from pg_sequence;

-- The database itself, whose settings and rights are the server's.
create table suite.first as select xmin::text as version from pg_database where datname = current_database();

-- Whether nobody is connected but the owner and sessions that rest.
create function suite.is_left_alone(resting integer[]) returns boolean
language sql as $$
  select not exists (
    select from pg_stat_activity where datname = current_database() and pid <> all (resting) and pid <> pg_backend_pid())
$$;

-- What cannot be taken back: changes of the schema, settings, statistics, and tables of so many pages that PostgreSQL
-- would plan otherwise than for a new one.
create function suite.wear() returns text
language sql as $$
  select tag from suite.commands
  union all
  select 'a setting' from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where d.datname = current_database()
  union all
  select 'a right or a name' from suite.first
  where version <> (select xmin::text from pg_database where datname = current_database())
  union all
  select 'a large object' from pg_largeobject_metadata
  union all
  select 'statistics of ' || t.name from suite.tables t join pg_class c on c.oid = t.name where c.reltuples <> t.counted
  union all
  select 'columns'' statistics of ' || t.name from suite.tables t join pg_statistic s on s.starelid = t.name
  union all
  select 'the size of ' || name from suite.tables where pg_relation_size(name) > 10 * current_setting('block_size')::int
  limit 1
$$;

-- Goes back, unless the database is worn: then it says by what.
create function suite.go_back() returns text
language plpgsql set session_replication_role = replica as $$
declare
  worn text := suite.wear();
  one suite.tables;
begin
  if worn is not null then
    return worn;
  end if;
  for one in select * from suite.tables where pg_relation_size(name) > 0 loop
    if one.copy is null then
      execute format('delete from %s', one.name);
    else
      -- Few rows differ, and each that is replaced takes room until the database's end.
      execute format('delete from %s t where not exists (select from %s c where c = t)', one.name, one.copy);
      execute format('insert into %1$s overriding system value (table %2$s except all table %1$s)', one.name, one.copy);
    end if;
  end loop;
  perform setval(name, coalesce(last, start), last is not null) from suite.sequences
  where pg_sequence_last_value(name) is distinct from last;
  return null;
end
$$;

create event trigger note_command on ddl_command_end execute function suite.note_command();
