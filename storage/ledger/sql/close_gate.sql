-- Closes a gate for one cause; a closing that ends earlier than the one that stands changes nothing.
insert into gates as g (scope, key, cause, reason, until, actor)
values (%(scope)s, %(key)s, %(cause)s, %(reason)s, %(until)s, %(actor)s)
on conflict (scope, key, cause) do update set
  reason = excluded.reason, until = excluded.until, actor = excluded.actor, closed_at = now()
where coalesce(excluded.until, 'infinity') > coalesce(g.until, 'infinity') or g.until <= now()
