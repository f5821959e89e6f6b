-- name: list_past_mail
-- Incoming messages before a place in time, the latest first, with what a rule may ask of each: whether the account knew
-- the sender then, and whether its owner has written in the thread.
select m.gmail_message_id as message_id, m.gmail_thread_id as thread_id, m.direction, m.received_at, m.labels as label_ids, m.subject, m.body,
       m.document, m.automation_kind, m.automation_weight, m.automation_evidence,
       m.sender is not null and not exists (
         select from correspondents c
         where c.org_id = m.org_id and c.account_id = m.account_id and c.address = m.sender and least(c.heard_at, c.written_at) < m.received_at
       ) as first_contact,
       exists (
         select from messages o
         where o.org_id = m.org_id and o.account_id = m.account_id and o.gmail_thread_id = m.gmail_thread_id and o.direction = 'outgoing'
           and o.deleted_at is null) as thread_has_my_reply
from messages m
where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s and m.direction = 'incoming'
  and m.deleted_at is null
  and (%(before)s::timestamptz is null or (m.received_at, m.gmail_message_id) < (%(before)s, %(before_id)s))
order by m.received_at desc, m.gmail_message_id desc
limit %(limit)s
