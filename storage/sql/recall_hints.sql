-- The broker lost its data: every hint that is out must go out again. No publisher waits longer than an hour for a hint; the
-- bound keeps jobs that are scheduled for later out of the scan.
update jobs set published_at = null, attention_at = now()
where state = 'queued' and published_at is not null and attention_at > now() and attention_at <= now() + interval '1 hour'
