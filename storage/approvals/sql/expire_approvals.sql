-- Actions that nobody decided about in time, at most so many, those first whose time is over longest.
with due as (
  select id from actions
  where state = 'approved_pending' and approval_expires_at <= now()
  order by approval_expires_at
  limit %(limit)s
  for update skip locked
)
update actions a set
  state = 'expired', finished_at = now(),
  error = jsonb_build_object('code', 'action.not_approved', 'reason', 'nobody approved it in time; it was not executed')
from due d
where a.id = d.id
returning a.id as action_id, a.org_id, a.account_id
