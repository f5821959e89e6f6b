-- Records of which something is still expected, a page of them in the order of their index: a draft of ours is out, or the draft is waited for,
-- because a person or a service ordered it and the message was not thrown away, or by a decision about a message that still lies in the inbox.
-- An order from before the mailbox was connected may be an earlier owner's: it counts for nothing.
select e.gmail_thread_id as thread_id, e.gmail_message_id as message_id, e.state, e.state_changed_at as since, o.by_hand
from emails e
cross join lateral (
  select coalesce(e.by_hand_at >= coalesce((select connected_at from accounts where id = %(account_id)s), '-infinity'), false) as by_hand
) as o
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state in ('pending', 'drafted', 'rework_requested') and e.state_changed_at >= %(since)s
  and (e.state, e.state_changed_at, e.gmail_thread_id) > (%(after_state)s::text, %(after_time)s::timestamptz, %(after_thread)s::text)
  and (e.state <> 'pending' or exists (
    select from messages m
    where m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_message_id = e.gmail_message_id
      -- What was ordered by hand is drafted about the rest of a thread that has lost its message, or ended.
      and case when o.by_hand then not m.labels && '{TRASH,SPAM}'
          else m.deleted_at is null and e.classification = 'needs_response' and 'INBOX' = any (m.labels) end))
order by e.state, e.state_changed_at, e.gmail_thread_id
limit %(limit)s
