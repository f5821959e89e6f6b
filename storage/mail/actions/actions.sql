-- columns: action
a.id as action_id, a.org_id, a.account_id, a.gmail_message_id as message_id, a.decision_id, a.job_id, a.kind, a.parameters, a.version, a.danger,
  a.reasons, a.state, a.undo_hint, a.error, a.requested_by, a.approver, a.decided_at, a.approval_expires_at, a.approval_reason,
  a.sent_message_id, a.created_at, a.started_at, a.finished_at,
  (select k.effect_id from action_links k where k.org_id = a.org_id and k.account_id = a.account_id and k.cause_id = a.id
    and k.relation = 'undo_of') as undo_of,
  (select k.cause_id from action_links k where k.org_id = a.org_id and k.account_id = a.account_id and k.effect_id = a.id
    and k.relation = 'undo_of') as undone_by

-- name: get_action
-- One action, of whatever account; the caller compares it.
select columns(action) from actions a where a.id = %(action_id)s

-- name: list_actions
-- The actions on a message, in the order they were asked for.
select columns(action) from actions a
where a.account_id = %(account_id)s and a.gmail_message_id = %(message_id)s
order by a.created_at, a.id

-- name: list_org_actions
-- An org's actions, the newest first, from a place on; a filter that is null does not narrow the list.
select columns(action) from actions a
where a.org_id = %(org_id)s
  and (%(account_id)s::uuid is null or a.account_id = %(account_id)s)
  and (%(message_id)s::text is null or a.gmail_message_id = %(message_id)s)
  and (%(states)s::text[] is null or a.state = any (%(states)s))
  and (%(kind)s::text is null or a.kind = %(kind)s)
  and (%(last_created_at)s::timestamptz is null or (a.created_at, a.id) < (%(last_created_at)s, %(last_id)s::uuid))
order by a.created_at desc, a.id desc
limit %(limit)s

-- name: request_action
-- An action that somebody asked for, on a stored message, with the files that it names; nothing when the message is not stored.
insert into actions (org_id, account_id, gmail_message_id, kind, parameters, version, danger, reasons, state, requested_by, files)
select org_id, account_id, gmail_message_id, %(kind)s, %(parameters)s, %(version)s, %(danger)s, %(reasons)s::text[], %(state)s, %(requested_by)s,
  %(files)s::jsonb
from messages
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and deleted_at is null
returning id as action_id

-- name: get_action_files
-- The files of an action's mail, with their content as base64; null where it has none.
select files from actions where account_id = %(account_id)s and id = %(action_id)s

-- name: assign_action_jobs
-- Which jobs execute actions that go ahead: at the end of its job an action is found by it.
update actions a set job_id = g.job_id
from unnest(%(action_ids)s::uuid[], %(job_ids)s::uuid[]) as g (action_id, job_id)
where a.id = g.action_id and a.state in ('queued', 'approved')
returning a.id

-- name: begin_action
-- A job takes an action up, or takes up again what it had begun; nothing when the action is not to be executed by it.
update actions set
  state = 'executing', job_id = %(job_id)s, started_at = coalesce(started_at, now()), finished_at = null, error = null
where id = %(action_id)s and (state = any (%(may_begin)s::text[]) or (state = 'executing' and job_id = %(job_id)s))
returning id

-- name: finish_action
-- The action of a job is done; nothing when another job has it.
update actions set
  state = 'done', undo_hint = coalesce(%(undo_hint)s, undo_hint), sent_message_id = coalesce(%(sent_message_id)s, sent_message_id), finished_at = now()
where id = %(action_id)s and state = 'executing' and job_id = %(job_id)s
returning id

-- name: change_held_action
-- Keeps what will take an action back, as far as that is known before the action is executed, or lets another job go on with the action;
-- nothing when a third job has it.
update actions set undo_hint = coalesce(%(undo_hint)s, undo_hint), job_id = coalesce(%(to_job)s, job_id)
where id = %(action_id)s and state = 'executing' and job_id = %(job_id)s
returning id

-- name: decide_action
-- A person's decision about an action that waits for one, while it may be made; nothing when it was made before, or is too late.
update actions set
  state = %(to)s::text, approver = %(approver)s, decided_at = now(), approval_reason = %(reason)s,
  finished_at = case when %(to)s = 'denied' then now() end
where id = %(action_id)s and state = 'approved_pending' and (approval_expires_at is null or approval_expires_at > now())
returning id

-- name: cancel_waiting_actions
-- Ends what waits for a person or for its job in a mailbox that is taken away, also where its job has begun; says what was asked. An undo is
-- owed to its person. The job of a mail that may have been made or sent ends the mail's action, when it has written down what it knows.
update actions a set
  state = 'canceled', finished_at = now(),
  error = jsonb_build_object('code', 'account.disconnected', 'reason', 'the account was disconnected')
where a.account_id = %(account_id)s and a.state in ('queued', 'approved_pending', 'approved', 'executing') and a.kind <> 'undo'
  and not exists (
    select from idempotency_keys k
    where k.org_id = a.org_id and k.kind = 'effect' and k.status <> 'failed' and k.key in ('outbound.draft:' || a.id, 'outbound.send:' || a.id))
returning id as action_id, old.state = 'approved_pending' as was_asked

-- name: order_ended_actions
-- Looks once at the actions that jobs had asked for and a disconnection has ended, a batch at a time, and asks for each of them again: a person
-- whose approval it took is asked anew. Not where its message has been moved by its person, where somebody has decided or asked anew, and where
-- the action is known to be done. A message that an action of ours has taken out of the inbox was not moved by its person.
with ended as materialized (
  select a.*, uuidv7() as again_id, case when cardinality(a.reasons) > 0 then 'approved_pending' else 'queued' end as again_as,
    m.deleted_at is null and m.gmail_message_id <> all (%(moved)s::text[]) and not m.labels && '{TRASH,SPAM}'
      and ('INBOX' = any (m.labels) or exists (
        select from actions b
        where b.org_id = a.org_id and b.account_id = a.account_id and b.gmail_message_id = a.gmail_message_id
          and b.kind in ('archive', 'snooze') and b.state = 'done'))
      and not exists (
        select from actions b
        where b.org_id = a.org_id and b.account_id = a.account_id and b.gmail_message_id = a.gmail_message_id
          and (b.kind, b.parameters) = (a.kind, a.parameters) and (b.created_at, b.id) > (a.created_at, a.id))
      and not exists (
        select from decisions d
        where d.org_id = a.org_id and d.account_id = a.account_id and d.gmail_message_id = a.gmail_message_id and d.at > a.created_at)
      and not exists (
        select from idempotency_keys k
        where k.org_id = a.org_id and k.kind = 'effect' and k.status = 'succeeded' and k.key = 'action:' || a.id) as is_wanted
  from actions a
  join messages m on (m.org_id, m.account_id, m.gmail_message_id) = (a.org_id, a.account_id, a.gmail_message_id)
  where a.org_id = (select org_id from accounts where id = %(account_id)s) and a.account_id = %(account_id)s
    and a.state = 'canceled' and a.error ->> 'code' = 'account.disconnected' and (a.decision_id is not null or a.requested_by like 'job:%%')
  order by a.created_at, a.id limit %(limit)s
),
looked_at as (
  update actions a set error = jsonb_build_object('code', 'account.connected_again', 'reason', 'the account was disconnected; ' || case when e.is_wanted
    then 'the action was asked for again when the account was connected again'
    else 'when it was connected again, the action was done, decided about anew, or its message had been moved' end)
  from ended e where a.id = e.id
),
again as (
  insert into actions (id, org_id, account_id, gmail_message_id, decision_id, requested_by, kind, parameters, version, danger, reasons, files, state)
  select again_id, org_id, account_id, gmail_message_id, decision_id, requested_by, kind, parameters, version, danger, reasons, files, again_as
  from ended where is_wanted order by created_at, id
)
select again_id as action_id, again_as as state, is_wanted from ended order by created_at, id
