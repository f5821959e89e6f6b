-- Ends the actions of earlier decisions about a message that still wait for a person: a newer decision takes their place. What somebody
-- has asked for by name waits on.
with held as (
  select id from actions
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s and state = 'approved_pending' and decision_id is not null
  order by id
  for update
)
update actions a set
  state = 'canceled', finished_at = now(),
  error = jsonb_build_object('code', 'action.superseded', 'reason', 'a newer decision about the message has taken its place')
from held h
where a.id = h.id
returning a.id as action_id, a.org_id, a.account_id
