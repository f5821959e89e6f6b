-- The broker lost its data: every hint that is out must go out again.
update jobs set published_at = null, attention_at = now()
where state = 'queued' and published_at is not null and attention_at > now() and attention_at <= now() + %(patience)s::interval
