-- Stored messages received since a time that lie in the inbox.
select m.gmail_message_id as message_id
from messages m
where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s
  and m.received_at >= %(since)s and m.deleted_at is null and 'INBOX' = any (m.labels)
