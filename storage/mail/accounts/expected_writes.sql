-- name: expect_writes
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

-- name: match_expected_writes
-- Which of these changes are our own. What was expected of a message answers one history record, and the same record
-- again; what was expected of a thread answers one record for each of its messages, until it expires. What is only remembered
-- answers nothing. Those that are to be remembered are told from those that are not, and what a later call of ours has put back is named, too:
-- history may report that on a later page.
with reported as (
  select * from unnest(%(places)s::int[], %(history_ids)s::numeric[], %(changes)s::text[], %(threads)s::text[], %(messages)s::text[], %(labels)s::text[])
    as c (place, history_id, change, thread_id, message_id, label_id)
),
waiting as (
  select w.id, w.change, w.gmail_thread_id, w.gmail_message_id, w.gmail_label_id, w.history_id,
         w.expires_at > w.created_at + %(keep)s::interval as is_remembered,
         w.change = 'labels_removed' and exists (
           select from expected_writes b
           where b.account_id = w.account_id and b.change = 'labels_added' and b.gmail_message_id = w.gmail_message_id
             and b.gmail_label_id = w.gmail_label_id and b.created_at > w.created_at) as is_put_back
  from expected_writes w
  where w.account_id = %(account_id)s and w.expires_at > now() and w.created_at > now() - %(keep)s::interval
),
matched as (
  select distinct on (t.place, t.label_id) t.place, t.label_id, t.history_id, w.id, w.gmail_message_id, w.is_remembered, w.is_put_back
  from reported t
  join waiting w on w.change = t.change and w.gmail_label_id is not distinct from t.label_id
    and (w.gmail_thread_id = t.thread_id or w.gmail_message_id = t.message_id)
    and (w.history_id is null or w.history_id = t.history_id)
  order by t.place, t.label_id, w.history_id nulls last, w.id
),
answered as (
  update expected_writes e set history_id = m.history_id
  from (select id, min(history_id) as history_id from matched where gmail_message_id is not null group by id) as m
  where e.id = m.id and e.history_id is null
)
select m.place, m.label_id, m.is_remembered, m.is_put_back
from matched m
where m.gmail_message_id is null
  or m.history_id = (select min(o.history_id) from matched o where o.id = m.id)
