-- name: begin_undo
-- The undo of an action and its link, both or neither; when there is a link, the undo that it names. No row: another transaction has
-- just made one, which a second look sees.
with original as (
  select org_id, account_id, gmail_message_id, id
  from actions
  where account_id = %(account_id)s and id = %(original_id)s
),
linked as (
  insert into action_links (org_id, account_id, cause_id, effect_id, relation)
  select org_id, account_id, uuidv7(), id, 'undo_of' from original
  on conflict (org_id, account_id, effect_id) where relation = 'undo_of' do nothing
  returning cause_id
),
undo as (
  insert into actions (id, org_id, account_id, gmail_message_id, job_id, kind, parameters, version, danger, state, started_at, requested_by)
  select l.cause_id, o.org_id, o.account_id, o.gmail_message_id, %(job_id)s, 'undo', %(parameters)s, %(version)s, 'safe', 'executing', now(),
         %(requested_by)s
  from linked l cross join original o
)
select l.cause_id as undo_id, true as created from linked l
union all
select k.cause_id, false
from action_links k
where k.account_id = %(account_id)s and k.effect_id = %(original_id)s and k.relation = 'undo_of'

-- name: cancel_wake
-- Cancels the job that would wake a snoozed message; says what became of it.
select postroom.cancel_wake(%(held_job)s, %(held_token)s, %(wake_job)s, %(why)s) as outcome

-- name: mark_undone
-- An action that an undo has taken back.
update actions set state = 'undone'
where id = %(action_id)s and state = 'done'
returning id
