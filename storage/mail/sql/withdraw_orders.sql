-- Drafts that were ordered by a label alone, which their person has taken off again: no message of the thread carries one of these labels any more.
-- Locked by id, as a disconnection locks them.
with waiting as (
  select e.id from emails e
  where e.account_id = %(account_id)s and e.state = 'pending' and e.by_hand_at is not null and not e.by_service
    and e.gmail_thread_id in (
      select m.gmail_thread_id from messages m where m.account_id = %(account_id)s and m.gmail_message_id = any (%(messages)s::text[]))
  order by e.id
  for update
)
update emails e set state = 'skipped', state_changed_at = now()
from waiting w
where e.id = w.id
  and not exists (
    select from messages m
    where m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_thread_id = e.gmail_thread_id and m.deleted_at is null
      and m.labels && %(labels)s::text[])
returning e.gmail_thread_id as thread_id, e.gmail_message_id as message_id, e.draft_token is not null as in_doubt
