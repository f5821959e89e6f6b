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
