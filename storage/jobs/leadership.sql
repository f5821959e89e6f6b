-- name: take_leadership
-- Makes a relay the one that leads, or renews its lease; no row when another leads. All times are the database's. A leader whose lease has
-- ended, or whose backend is gone, leads no more. A relay that finds another leading
-- writes nothing.
with leader as materialized (
  select l.holder = %(holder)s::uuid or l.leads_until <= clock_timestamp() or not exists (
    select from pg_stat_activity b
    -- PostgreSQL hides the start of a backend with another login.
    where b.pid = l.backend_pid and (b.backend_start is null or b.backend_start = l.backend_start)) as gives_way, l.leads_until
  from relay_leader l
)
insert into relay_leader as l (only_row, holder, backend_pid, backend_start, hostname, pid, leads_until)
select true, %(holder)s::uuid, a.pid, a.backend_start, %(hostname)s::text, %(pid)s::int, clock_timestamp() + %(lease)s::interval
from pg_stat_activity a
where a.pid = pg_backend_pid() and not exists (select from leader where not gives_way)
on conflict (only_row) do update set
  holder = excluded.holder, backend_pid = excluded.backend_pid, backend_start = excluded.backend_start, hostname = excluded.hostname,
  pid = excluded.pid, leads_until = excluded.leads_until,
  leads_since = case when l.holder = excluded.holder then l.leads_since else clock_timestamp() end
-- Of two that saw the same leader give way, one takes over.
where l.leads_until = (select leads_until from leader)
returning holder

-- name: give_up_leadership
-- Ends the lease of a relay that leads no more, so that another need not wait for it.
update relay_leader set leads_until = clock_timestamp() where holder = %(holder)s::uuid and leads_until > clock_timestamp()
