-- The transactions that may have written audit entries and have not ended: each holds this lock until then, and took it before
-- its first entry got a number.
select distinct virtualtransaction as transaction from pg_locks
where locktype = 'relation' and relation = 'public.audit_entries'::regclass and mode = 'RowExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())
