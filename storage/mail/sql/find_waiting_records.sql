-- Records that have waited for their first draft since a time at most, by a decision about a message that still lies in the inbox.
select e.gmail_thread_id as thread_id, e.gmail_message_id as message_id, e.state_changed_at as since
from emails e
join messages m on m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_message_id = e.gmail_message_id
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state = 'pending' and e.classification = 'needs_response' and e.state_changed_at >= %(since)s
  and m.deleted_at is null and 'INBOX' = any (m.labels)
order by e.state_changed_at
limit %(limit)s
