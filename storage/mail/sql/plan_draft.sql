-- Writes down the token of a draft before it is made; a later attempt keeps the token of the first, and so finds its draft.
-- The history id is one from before the draft: what was added to the mailbox since then shows whether it was ever made.
-- Nothing when the record has moved, or the thread has another newest message than the one that the draft's words are based on.
with facts as (
  select id, org_id from emails
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending' and %(newest)s = (select m.gmail_message_id from messages m
    where m.account_id = %(account_id)s and m.gmail_thread_id = %(thread_id)s and m.deleted_at is null
    order by m.received_at desc, m.gmail_message_id desc limit 1)
),
planned as (
  insert into draft_tokens (org_id, account_id, token, gmail_thread_id)
  select e.org_id, e.account_id, %(token)s, e.gmail_thread_id from emails e join facts f on f.org_id = e.org_id and f.id = e.id
  where e.draft_token is null
  returning token
)
update emails e set draft_token = coalesce(e.draft_token, (select token from planned)),
  draft_planned_at = case when e.draft_token is null then now() else e.draft_planned_at end,
  draft_history_id = case when e.draft_token is null then %(history_id)s::numeric else e.draft_history_id end
from facts f
where f.org_id = e.org_id and f.id = e.id and e.state = 'pending'
returning e.draft_token
