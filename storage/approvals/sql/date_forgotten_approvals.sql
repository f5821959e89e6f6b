-- Actions that wait without an end, at most so many: they get one, and are to be asked about.
with forgotten as (
  select id from actions
  where state = 'approved_pending' and approval_expires_at is null
  limit %(limit)s
  for update skip locked
)
update actions a set approval_expires_at = now() + %(lasts)s
from forgotten f
where a.id = f.id
returning a.id as action_id, a.org_id, a.account_id
