-- Threads with a draft of ours that is neither sent nor thrown away, and since when; the latest first.
select e.gmail_thread_id as thread_id, e.draft_message_id, e.state_changed_at as since
from emails e
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state in ('drafted', 'rework_requested')
order by e.state_changed_at desc
limit %(limit)s
