-- How the tables that rows leave are vacuumed. Settings of a table: nobody waits for them, and an operator may change them.

-- A vacuum may use more of the disk than PostgreSQL's default, which a fleet of 2,000 jobs/s outruns. Vacuum does not shorten the
-- file: it would lock the table against everybody to do so, and the space is needed again.
alter table jobs set (autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
alter table idempotency_keys set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
alter table job_steps set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
alter table result_requests set (autovacuum_vacuum_scale_factor = 0.05, vacuum_truncate = false);
