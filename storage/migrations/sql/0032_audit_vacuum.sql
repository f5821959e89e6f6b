-- New pages of the audit log are vacuumed in portions of one size. By PostgreSQL's default a portion is a fifth of the table: it grows
-- with the log, and while it is written to the write-ahead log, settlements wait.
alter table audit_entries set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);
