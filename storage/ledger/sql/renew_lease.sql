-- Registers a process that runs jobs, or renews its lease; one row, however many jobs it holds. Returns the time, which the process
-- goes by until the next renewal.
insert into workers (id, node_id, hostname, pid, lease_until)
values (%(worker_id)s, %(node_id)s, %(hostname)s, %(pid)s, now() + %(lease)s::interval)
on conflict (id) do update set lease_until = excluded.lease_until
returning clock_timestamp() as at
