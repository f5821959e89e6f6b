-- The newest messages that hold all the words and, where addresses are given, that everybody has seen whom they name: each is the
-- sender or among the recipients. Only the account's last 2,000 messages are looked through, so that the cost is bounded.
with recent as (
  select gmail_message_id, gmail_thread_id, direction, received_at, labels, subject, body, document, sender, automation_kind,
         automation_weight, automation_evidence
  from messages
  where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s)
    and gmail_thread_id <> %(but_thread)s and deleted_at is null
  order by received_at desc
  limit 2000
)
select r.gmail_message_id as message_id, r.gmail_thread_id as thread_id, r.direction, r.received_at, r.labels as label_ids, r.subject, r.body,
       r.document, r.automation_kind, r.automation_weight, r.automation_evidence
from recent r
where not exists (select from unnest(%(words)s::text[]) w where position(w in lower(r.subject || ' ' || r.body)) = 0)
  and not exists (
    select from unnest(%(seen_by)s::text[]) a
    where a is distinct from r.sender and not exists (
      select from jsonb_array_elements((r.document -> 'to') || (r.document -> 'cc')) as known where lower(known ->> 'address') = a))
order by r.received_at desc
limit %(limit)s
