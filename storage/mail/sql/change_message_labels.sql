-- Adds and removes labels of messages as the mailbox did; returns the labels they carried and carry now. Messages in the order of their
-- ids, as whoever holds several.
with held as (
  select org_id, account_id, gmail_message_id, labels from messages
  where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[])
  order by gmail_message_id
  for no key update
)
update messages m set labels = (
  select coalesce(array_agg(distinct l order by l), '{}') from unnest(m.labels || %(added)s::text[]) as l where l <> all (%(removed)s::text[]))
from held h
where m.org_id = h.org_id and m.account_id = h.account_id and m.gmail_message_id = h.gmail_message_id
returning m.gmail_message_id as message_id, h.labels as before, m.labels
