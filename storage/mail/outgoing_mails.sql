-- name: get_outgoing_mail
-- How far the mail of an action has got.
select action_id, token, message_type, automatic, history_id, draft_id, draft_message_id, draft_thread_id, send_began_at, sent_message_id,
       sent_thread_id, sent_at, rfc_message_id
from outgoing_mails
where account_id = %(account_id)s and action_id = %(action_id)s

-- name: plan_outgoing_mail
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

-- name: record_outgoing_draft
-- The draft was made, and is about to be sent.
update outgoing_mails set
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_thread_id = %(draft_thread_id)s,
  send_began_at = coalesce(send_began_at, now())
where account_id = %(account_id)s and action_id = %(action_id)s
returning action_id

-- name: record_outgoing_sent
-- The mail has left; Gmail gave the sent message an id of its own.
update outgoing_mails set
  sent_message_id = %(sent_message_id)s, sent_thread_id = %(sent_thread_id)s, sent_at = coalesce(sent_at, now())
where account_id = %(account_id)s and action_id = %(action_id)s
returning action_id

-- name: record_outgoing_message_id
-- The Message-ID that Gmail gave the sent mail.
update outgoing_mails set rfc_message_id = %(rfc_message_id)s
where account_id = %(account_id)s and action_id = %(action_id)s and sent_message_id is not null
returning action_id

-- name: reserve_automatic_answers
-- Sets automatic answers to these addresses aside for an action; an address is missing from the answer when it got one lately. One that was
-- set aside for an action that ended without sending counts for nothing. Addresses in order, so that two actions wait and do not deadlock.
insert into automatic_answers as a (org_id, account_id, address, action_id)
select x.org_id, x.account_id, w.address, x.id
from (select distinct unnest(%(addresses)s::text[]) as address order by 1) w
cross join (select org_id, account_id, id from actions where account_id = %(account_id)s and id = %(action_id)s) x
order by w.address
on conflict (org_id, account_id, address) do update set action_id = excluded.action_id, answered_at = now()
where a.action_id = excluded.action_id
  or a.answered_at <= now() - %(every)s::interval
  or (exists (select from actions d where d.org_id = a.org_id and d.account_id = a.account_id and d.id = a.action_id
                and d.state in ('failed', 'denied', 'expired', 'canceled'))
      and not exists (select from outgoing_mails m where m.org_id = a.org_id and m.account_id = a.account_id and m.action_id = a.action_id
                        and m.send_began_at is not null))
returning address

-- name: pause_sending
-- The account may send nothing until then; of two pauses the later end wins.
update accounts set sending_paused_until = greatest(sending_paused_until, %(until)s)
where id = %(account_id)s
returning id

-- name: read_sending_pause
-- Until when the account may send nothing.
select sending_paused_until as until from accounts where id = %(account_id)s and sending_paused_until > now()

-- name: find_outgoing_tokens
-- Which of these tokens an account's mails of actions were made with.
select token from outgoing_mails
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
