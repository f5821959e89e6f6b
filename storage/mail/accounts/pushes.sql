-- name: count_refused_push
-- Counts a push that was acknowledged and thrown away.
insert into refused_pushes as r (reason, day, count, first_at, last_at)
values (%(reason)s, (now() at time zone 'UTC')::date, 1, now(), now())
on conflict (reason, day) do update set count = r.count + 1, last_at = greatest(r.last_at, excluded.last_at)
returning count

-- name: list_refused_pushes
-- Refused pushes since a day, the latest first.
select reason, day, count, first_at, last_at
from refused_pushes
where day >= %(since)s
order by day desc, reason
