-- The broker lost its data: every hint that is out must go out again, by way of the backlog; a bounded number at a time. No
-- publisher waits longer than an hour for a hint; the bound keeps jobs that are scheduled for later out of the scan.
update jobs j set published_at = null, next_check_at = null, backlog_since = j.run_at
where j.id = any (array(
  select id from jobs
  where state = 'queued' and published_at is not null and next_check_at > now() and next_check_at <= now() + interval '1 hour'
  order by next_check_at limit %(batch)s for update skip locked
))
returning j.id
