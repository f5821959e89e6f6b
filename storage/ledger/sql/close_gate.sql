-- Closes a gate for one cause; a closing that ends earlier than the one that stands changes nothing. A job can learn that an account's
-- consent is gone, and close its gate after the account was connected again or disconnected: nobody would open that gate any more.
with account as materialized (
  -- The row is locked whatever it says: whoever connects or disconnects the account at this moment comes first, or opens this gate.
  select status from accounts
  where %(cause)s = 'consent' and %(scope)s = 'account'
    and id = case when %(key)s ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then %(key)s::uuid end
  for share
)
insert into gates as g (scope, key, cause, reason, until, actor)
select %(scope)s, %(key)s, %(cause)s, %(reason)s, %(until)s, %(actor)s
where not exists (select from account where status <> 'needs_reconsent')
on conflict (scope, key, cause) do update set
  reason = excluded.reason, until = excluded.until, actor = excluded.actor, closed_at = now()
where coalesce(excluded.until, 'infinity') > coalesce(g.until, 'infinity') or g.until <= now()
