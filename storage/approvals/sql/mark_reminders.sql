-- Actions whose one reminder is due, at most so many: so much of their time is over.
with due as (
  select id from actions
  where state = 'approved_pending' and approval_reminded_at is null and approval_expires_at > now()
    and created_at + (approval_expires_at - created_at) * %(share)s::double precision <= now()
  order by approval_expires_at
  limit %(limit)s
  for update skip locked
)
update actions a set approval_reminded_at = now()
from due d
where a.id = d.id
returning a.id as action_id, a.org_id, a.account_id
