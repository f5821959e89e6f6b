-- Writes down the token of a mail before its draft is made; a later attempt keeps the first one, and so finds its draft.
with planned as (
  insert into outgoing_mails (org_id, account_id, action_id, token, message_type, automatic, history_id)
  select org_id, account_id, id, %(token)s, %(message_type)s, %(automatic)s, %(history_id)s
  from actions
  where account_id = %(account_id)s and id = %(action_id)s
  on conflict (org_id, account_id, action_id) do nothing
  returning token
)
select token from planned
union all
select token from outgoing_mails where account_id = %(account_id)s and action_id = %(action_id)s
