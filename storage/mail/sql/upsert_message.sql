-- Stores a message with its thread and correspondents; again, it changes only what the mailbox can change: its labels.
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
),
known as (
  insert into correspondents as c (org_id, account_id, address, heard_at, written_at)
  select a.org_id, a.id, p.address, case when %(direction)s = 'incoming' then %(received_at)s::timestamptz end,
         case when %(direction)s = 'outgoing' then %(received_at)s::timestamptz end
  from account a, (select distinct unnest(%(others)s::text[]) as address order by 1) as p
  on conflict (org_id, account_id, address) do update set
    heard_at = least(c.heard_at, excluded.heard_at), written_at = least(c.written_at, excluded.written_at)
)
insert into messages as m (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size, labels, sender,
                           subject, body, document, rfc_message_id, defects, automation_kind, automation_weight, automation_evidence)
select t.org_id, t.account_id, %(message_id)s, t.gmail_thread_id, %(direction)s, %(received_at)s, %(size)s, %(labels)s::text[],
       %(sender)s, %(subject)s, %(body)s, %(document)s, %(rfc_message_id)s, %(defects)s::text[],
       %(automation_kind)s, %(automation_weight)s, %(automation_evidence)s::text[]
from thread t
on conflict (org_id, account_id, gmail_message_id) do update set labels = excluded.labels, deleted_at = null
returning m.xmax = 0 as created
