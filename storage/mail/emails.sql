-- columns: email
id as email_id, account_id, gmail_thread_id as thread_id, gmail_message_id as message_id, state, state_changed_at, classification,
  decision_source, confidence, needs_review, draft_token, draft_id, draft_message_id, draft_fingerprint, drafted_at,
  draft_planned_at, draft_history_id, rework_count, sent_message_id, sent_at, by_hand_at, by_service

-- name: open_email
-- The record of a thread that wants an answer, made if there is none; an existing one is left as it is.
-- With in_inbox the message must still be in the inbox.
with opened as (
  insert into emails (org_id, account_id, gmail_thread_id, gmail_message_id, state, classification, decision_source, confidence, needs_review)
  select org_id, account_id, gmail_thread_id, %(message_id)s::text, %(state)s, %(classification)s, %(source)s, %(confidence)s, %(needs_review)s
  from threads
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s
    and (not %(in_inbox)s or exists (
      select from messages m
      where m.account_id = %(account_id)s and m.gmail_message_id = %(message_id)s and 'INBOX' = any (m.labels)))
  on conflict (org_id, account_id, gmail_thread_id) do nothing
  returning id
)
select exists (select from opened) as created

-- name: find_thread_of_email
-- The thread of a record.
select gmail_thread_id as thread_id from emails where account_id = %(account_id)s and id = %(email_id)s

-- name: get_email
-- The record of one thread.
select columns(email) from emails where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s

-- name: get_email_and_place
-- The record of a thread, and whether one of its messages is in the inbox.
with message as (
  select 'INBOX' = any (labels) as in_inbox from messages
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s
),
record as (
  select columns(email) from emails where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s
)
select coalesce((select in_inbox from message), false) as in_inbox, record.* from (values (1)) as one left join record on true

-- name: find_email_by_draft_message
-- The record whose draft consists of this message now.
select columns(email) from emails where account_id = %(account_id)s and draft_message_id = %(message_id)s

-- name: find_open_records
-- Records of which something is still expected, a page of them in the order of their index: a draft of ours is out, or the draft is waited for,
-- because a person or a service ordered it and the message was not thrown away, or by a decision about a message that still lies in the inbox.
select e.gmail_thread_id as thread_id, e.gmail_message_id as message_id, e.state, e.state_changed_at as since,
       e.by_hand_at is not null as by_hand
from emails e
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state in ('pending', 'drafted', 'rework_requested') and e.state_changed_at >= %(since)s
  and (e.state, e.state_changed_at, e.gmail_thread_id) > (%(after_state)s::text, %(after_time)s::timestamptz, %(after_thread)s::text)
  and (e.state <> 'pending' or exists (
    select from messages m
    where m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_message_id = e.gmail_message_id
      -- What was ordered by hand is drafted about the rest of a thread that has lost its message, or ended.
      and case when e.by_hand_at is not null then not m.labels && '{TRASH,SPAM}'
          else m.deleted_at is null and e.classification = 'needs_response' and 'INBOX' = any (m.labels) end))
order by e.state, e.state_changed_at, e.gmail_thread_id
limit %(limit)s

-- name: order_by_hand
-- Its person, or a service, has ordered the draft that a pending record waits for. Its waiting begins with that.
-- What a service has ordered stays so, whatever labels order besides.
update emails set by_hand_at = greatest(by_hand_at, %(at)s), by_service = %(by_service)s or by_service, state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id

-- name: find_ordering_messages
-- Messages that carry a label of these, as far as is stored, in threads that wait for a draft which a label alone has ordered.
-- Gmail's search shows nothing that was thrown away.
select m.gmail_message_id as message_id
from emails e
join messages m on m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_thread_id = e.gmail_thread_id
where e.org_id = (select org_id from accounts where id = %(account_id)s) and e.account_id = %(account_id)s
  and e.state = 'pending' and e.by_hand_at is not null and not e.by_service
  and m.deleted_at is null and m.labels && %(labels)s::text[] and not m.labels && '{TRASH,SPAM}'
order by 1

-- name: withdraw_orders
-- Drafts that were ordered by a label alone, which their person has taken off again: no message of the thread carries one of these labels any more.
update emails e set state = 'skipped', state_changed_at = now()
where e.account_id = %(account_id)s and e.state = 'pending' and e.by_hand_at is not null and not e.by_service
  and e.gmail_thread_id in (
    select m.gmail_thread_id from messages m where m.account_id = %(account_id)s and m.gmail_message_id = any (%(messages)s::text[]))
  and not exists (
    select from messages m
    where m.org_id = e.org_id and m.account_id = e.account_id and m.gmail_thread_id = e.gmail_thread_id and m.deleted_at is null
      and m.labels && %(labels)s::text[])
returning e.gmail_thread_id as thread_id, e.gmail_message_id as message_id, e.draft_token is not null as in_doubt

-- name: end_orders_by_hand
-- Ends the orders of drafts that are still waited for in a mailbox that is taken away, whether a label or a service gave them.
update emails set state = 'skipped', state_changed_at = now()
where account_id = %(account_id)s and state = 'pending' and by_hand_at is not null
returning id

-- name: update_email_decision
-- Writes a newer decision, and the message that was classified, into a record that is still pending.
update emails set gmail_message_id = %(message_id)s, classification = %(classification)s, decision_source = %(source)s,
  confidence = %(confidence)s, needs_review = %(needs_review)s
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id

-- name: move_email
-- Moves a record from one state to another; nothing when it is not where the caller thought, or, where the caller names the
-- thread's newest message, when another one has come.
update emails set state = %(to)s, state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
  and (%(newest)s::text is null or %(newest)s = (select m.gmail_message_id from messages m
    where m.account_id = %(account_id)s and m.gmail_thread_id = %(thread_id)s and m.deleted_at is null
    order by m.received_at desc, m.gmail_message_id desc limit 1))
returning id

-- name: reopen_email
-- A finished thread wants an answer again: its life begins anew, with the message that reopened it.
-- The token of a draft that nobody recorded stays, or the next draft would be made beside it.
update emails set state = 'pending', state_changed_at = now(), gmail_message_id = %(message_id)s,
  draft_token = case when state <> 'sent' and draft_id is null then draft_token end, draft_id = null,
  draft_planned_at = case when state <> 'sent' and draft_id is null then draft_planned_at end,
  draft_history_id = case when state <> 'sent' and draft_id is null then draft_history_id end,
  draft_message_id = null, draft_fingerprint = null, drafted_at = null, rework_count = 0, sent_message_id = null, sent_at = null,
  by_hand_at = null, by_service = false
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
returning id

-- name: plan_draft
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

-- name: plan_rework
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

-- name: record_draft
-- The draft was made, or made anew for a rework, which is counted.
update emails set
  state = 'drafted', state_changed_at = now(), rework_count = rework_count + case when state = 'rework_requested' then 1 else 0 end,
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_fingerprint = %(fingerprint)s, drafted_at = now(),
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s and state in ('pending', 'rework_requested')
returning rework_count

-- name: record_late_draft
-- A draft was made after its record had been settled. By the clock: the transaction may have begun before the move.
update emails set
  draft_id = %(draft_id)s, draft_message_id = %(draft_message_id)s, draft_fingerprint = %(fingerprint)s, drafted_at = clock_timestamp(),
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('archived', 'skipped') and draft_token is not null
  and draft_id is null
returning id

-- name: replace_draft_message
-- A person edited the draft: its id stays, its message is another. While it is reworked, the message that was read stays.
update emails set draft_message_id = %(draft_message_id)s
where account_id = %(account_id)s and draft_id = %(draft_id)s and state <> 'rework_requested'
returning id

-- name: forget_draft
-- The draft of a finished record is gone, or was never made; its token leads nowhere.
update emails set draft_token = null, draft_id = null, draft_message_id = null, draft_fingerprint = null, drafted_at = null,
  draft_planned_at = null, draft_history_id = null
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state in ('pending', 'sent', 'archived', 'skipped')
returning id

-- name: record_sent
-- The person sent the draft; Gmail gave the sent message an id of its own.
update emails set state = 'sent', state_changed_at = now(), sent_message_id = %(sent_message_id)s, sent_at = %(sent_at)s
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
returning id

-- name: find_draft_tokens
-- Which of these tokens an account's drafts and outgoing mails were made with, and in which threads.
select token, gmail_thread_id as thread_id from draft_tokens
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
union all
select token, coalesce(sent_thread_id, draft_thread_id, '') from outgoing_mails
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
