-- Adds and removes labels of messages as the mailbox did; returns the labels they carry now.
update messages m set labels = (
  select coalesce(array_agg(distinct l order by l), '{}') from unnest(m.labels || %(added)s::text[]) as l where l <> all (%(removed)s::text[]))
where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[])
returning gmail_message_id as message_id, labels
