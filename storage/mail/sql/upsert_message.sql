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
