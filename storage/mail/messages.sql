-- columns: message
gmail_message_id as message_id, gmail_thread_id as thread_id, direction, received_at, labels as label_ids, subject, body, document,
  automation_kind, automation_weight, automation_evidence

-- name: upsert_message
-- Stores a message with its thread; again, it changes only what the mailbox can change: its labels.
-- Labels come with a moment of reading; two readers of one message store the same message twice.
with account as (
  select org_id, id from accounts where id = %(account_id)s
),
thread as (
  insert into threads as t (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)
  select org_id, id, %(thread_id)s, %(received_at)s, %(received_at)s from account
  on conflict (org_id, account_id, gmail_thread_id) do update set
    first_message_at = least(t.first_message_at, excluded.first_message_at),
    last_message_at = greatest(t.last_message_at, excluded.last_message_at)
  returning org_id, account_id, gmail_thread_id
)
insert into messages as m (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size, labels, sender,
                           subject, body, document, rfc_message_id, defects, automation_kind, automation_weight, automation_evidence)
select t.org_id, t.account_id, %(message_id)s, t.gmail_thread_id, %(direction)s, %(received_at)s, %(size)s, %(labels)s::text[],
       %(sender)s, %(subject)s, %(body)s, %(document)s, %(rfc_message_id)s, %(defects)s::text[],
       %(automation_kind)s, %(automation_weight)s, %(automation_evidence)s::text[]
from thread t
on conflict (org_id, account_id, gmail_message_id) do update set labels = excluded.labels, deleted_at = null
returning m.xmax = 0 as created

-- name: note_correspondents
-- Whom an account heard from or wrote to, and when first.
insert into correspondents as c (org_id, account_id, address, heard_at, written_at)
select a.org_id, a.id, p.address, min(p.at) filter (where not p.written), min(p.at) filter (where p.written)
from accounts a, unnest(%(addresses)s::text[], %(times)s::timestamptz[], %(written)s::boolean[]) as p (address, at, written)
where a.id = %(account_id)s
group by a.org_id, a.id, p.address
on conflict (org_id, account_id, address) do update set
  heard_at = least(c.heard_at, excluded.heard_at), written_at = least(c.written_at, excluded.written_at)

-- name: get_message
-- One stored message.
select columns(message) from messages
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and deleted_at is null

-- name: list_thread_messages
-- The latest messages of a thread, oldest first.
select * from (
  select columns(message) from messages
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and deleted_at is null
  order by received_at desc, gmail_message_id desc
  limit %(limit)s
) as latest
order by received_at, message_id

-- name: find_unknown_messages
-- Which of these messages have never been stored, in the given order.
select g.id
from unnest(%(ids)s::text[]) with ordinality as g (id, place)
where not exists (
  select from messages m
  where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s and m.gmail_message_id = g.id)
group by g.id
order by min(g.place)

-- name: find_inbox_messages
-- Stored messages received since a time that lie in the inbox.
select m.gmail_message_id as message_id
from messages m
where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s
  and m.received_at >= %(since)s and m.deleted_at is null and 'INBOX' = any (m.labels)

-- name: find_unclassified_messages
-- Stored inbox messages since a time about which nobody has decided anything, a page of them, oldest first; other models than those that would be asked now
-- may have tried. Those are newly asked about when the full sync before named other models.
select m.gmail_message_id as message_id, m.received_at,
       (select a.full_sync_asked is distinct from %(asked)s from accounts a where a.id = %(account_id)s)
         and exists (select from decisions d where d.org_id = m.org_id and d.account_id = m.account_id and d.gmail_message_id = m.gmail_message_id)
         as newly_asked
from messages m
where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s
  and m.received_at >= %(since)s and (m.received_at, m.gmail_message_id) > (%(since)s::timestamptz, %(after)s::text)
  and m.deleted_at is null and m.direction = 'incoming' and 'INBOX' = any (m.labels)
  and not exists (
    select from decisions d
    where d.org_id = m.org_id and d.account_id = m.account_id and d.gmail_message_id = m.gmail_message_id
      and (d.undecided_by is null or d.undecided_by = %(asked)s))
order by m.received_at, m.gmail_message_id
limit %(limit)s

-- name: find_correspondents
-- Which of these addresses the account has had to do with before a time, and whether it wrote to them.
select c.address, coalesce(c.written_at < %(before)s, false) as written_to
from correspondents c
where c.org_id = (select org_id from accounts where id = %(account_id)s) and c.account_id = %(account_id)s
  and c.address = any (%(addresses)s::text[]) and least(c.heard_at, c.written_at) < %(before)s

-- name: change_message_labels
-- Adds and removes labels of messages as the mailbox did; returns the labels they carried and carry now.
with before as (
  select org_id, account_id, gmail_message_id, labels from messages
  where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[])
)
update messages m set labels = (
  select coalesce(array_agg(distinct l order by l), '{}') from unnest(m.labels || %(added)s::text[]) as l where l <> all (%(removed)s::text[]))
from before b
where m.org_id = b.org_id and m.account_id = b.account_id and m.gmail_message_id = b.gmail_message_id
returning m.gmail_message_id as message_id, b.labels as before, m.labels

-- name: mark_messages_deleted
-- Messages that are gone from the mailbox for good.
update messages set deleted_at = now()
where account_id = %(account_id)s and gmail_message_id = any (%(ids)s::text[]) and deleted_at is null
returning gmail_message_id
