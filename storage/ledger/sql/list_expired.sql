-- Expired jobs that are parked: no claim will find them. Bounded, the longest expired first.
select id from jobs where parked_by is not null and expires_at <= now() order by expires_at limit %(most)s
