-- Ends the orders of drafts that are still waited for in a mailbox that is taken away, whether a label or a service gave them.
with waiting as (
  select id from emails where account_id = %(account_id)s and state = 'pending' and by_hand_at is not null
  order by id
  for update
)
update emails e set state = 'skipped', state_changed_at = now()
from waiting w
where e.id = w.id
returning e.id
