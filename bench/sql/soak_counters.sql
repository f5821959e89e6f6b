-- What PostgreSQL has done since it started: what it wrote ahead, its checkpoints, and how often it vacuumed by itself.
select 'wal.bytes' as name, wal_bytes::float8 as value from pg_stat_wal
union all
select 'wal.full_page_images', wal_fpi from pg_stat_wal
union all
select 'wal.synced', sum(fsyncs) from pg_stat_io where object = 'wal'
union all
select 'checkpoints', num_timed + num_requested from pg_stat_checkpointer
union all
select relname || '.vacuums', autovacuum_count from pg_stat_user_tables
where relid in ('jobs'::regclass, 'idempotency_keys'::regclass, 'audit_entries'::regclass)
order by name
