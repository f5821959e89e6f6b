-- Writes down what our own calls will send back as history, before they are made; a second attempt expects no more.
-- A label that we take off may be remembered for longer than its removal is expected in history.
insert into expected_writes (org_id, account_id, change, gmail_thread_id, gmail_message_id, gmail_label_id, expires_at)
select a.org_id, a.id, e.change, e.thread_id, e.message_id, e.label_id, now() + case e.change when 'labels_removed' then %(remember)s::interval else %(keep)s::interval end
from accounts a,
     unnest(%(changes)s::text[], %(threads)s::text[], %(messages)s::text[], %(labels)s::text[]) as e (change, thread_id, message_id, label_id)
where a.id = %(account_id)s
  and not exists (
    select from expected_writes w
    where w.org_id = a.org_id and w.account_id = a.id and w.expires_at > now() and w.created_at > now() - %(keep)s::interval and w.history_id is null and w.change = e.change
      and (w.expires_at > w.created_at + %(keep)s) = (e.change = 'labels_removed' and %(remember)s::interval > %(keep)s)
      and (w.gmail_thread_id, w.gmail_message_id, w.gmail_label_id) is not distinct from (e.thread_id, e.message_id, e.label_id))
