-- Ends what waits for a person's approval in a mailbox that is taken away.
with waiting as (
  select id from actions where account_id = %(account_id)s and state = 'approved_pending'
  order by id
  for update
)
update actions a set
  state = 'canceled', finished_at = now(),
  error = jsonb_build_object('code', 'account.disconnected', 'reason', 'the account was disconnected')
from waiting w
where a.id = w.id
returning a.id as action_id
