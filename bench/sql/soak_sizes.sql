-- Rows of the ledger, and the bytes of its tables and of their indexes.
select 'jobs.rows' as name, count(*)::float8 as value from jobs
union all
select c.relname || '.' || s.part, case s.part when 'table' then pg_table_size(c.oid) else pg_indexes_size(c.oid) end
from pg_class c cross join (values ('table'), ('indexes')) as s (part)
where c.oid in ('jobs'::regclass, 'idempotency_keys'::regclass, 'audit_entries'::regclass)
order by name
