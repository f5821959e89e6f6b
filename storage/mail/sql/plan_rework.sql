-- A draft is to be replaced: the token of the one that comes, and the message that was read of the one that goes.
-- Nothing when the record has moved, or names another draft. A rework that another job has begun and given up is counted: it was paid for.
with facts as (
  select id, org_id from emails
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('drafted', 'rework_requested')
    and draft_id = %(draft_id)s
),
planned as (
  insert into draft_tokens (org_id, account_id, token, gmail_thread_id)
  select e.org_id, e.account_id, %(token)s, e.gmail_thread_id from emails e join facts f on f.org_id = e.org_id and f.id = e.id
  on conflict do nothing
)
update emails e set
  rework_count = rework_count + case when e.state = 'rework_requested' and e.draft_token is distinct from %(token)s then 1 else 0 end,
  state = 'rework_requested', state_changed_at = now(), draft_token = %(token)s, draft_message_id = %(draft_message_id)s
from facts f
where f.org_id = e.org_id and f.id = e.id and e.state in ('drafted', 'rework_requested')
returning e.id
