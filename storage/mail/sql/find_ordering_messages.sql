-- Messages that carry a label of these, as far as is stored, in threads that wait for a draft which a label alone has ordered.
-- Gmail's search shows nothing that was thrown away.
select m.gmail_message_id as message_id
from emails e
join messages m on m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_thread_id = e.gmail_thread_id
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state = 'pending' and e.by_hand_at is not null and not e.by_service
  and m.deleted_at is null and m.labels && %(labels)s::text[] and not m.labels && '{TRASH,SPAM}'
order by 1
