-- Writes down the token of a draft before it is made; a later attempt keeps the token of the first, and so finds its draft.
with planned as (
  insert into draft_tokens (org_id, account_id, token, gmail_thread_id)
  select org_id, account_id, %(token)s, gmail_thread_id from emails
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending' and draft_token is null
  returning token
)
update emails set draft_token = coalesce(draft_token, (select token from planned))
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning draft_token
