-- Refused pushes since a day, the latest first.
select reason, day, count, first_at, last_at
from refused_pushes
where day >= %(since)s
order by day desc, reason
