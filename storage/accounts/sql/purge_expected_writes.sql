-- Expectations whose time is over, a bounded number at a time.
delete from expected_writes where id in (select id from expected_writes where expires_at <= now() order by expires_at limit %(limit)s)
returning id
