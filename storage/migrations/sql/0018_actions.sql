-- Actions are executed, approved and taken back (docs/explanation/actions.md): their states, who decided, which job is at work, and
-- which action takes which back.

alter table actions drop constraint final_when_finished;
alter table actions drop constraint running_was_started;
alter table actions drop constraint done_can_say_how_to_undo;
alter table actions drop constraint failure_has_error;
alter table actions drop constraint actions_state_check;
alter table actions drop constraint actions_kind_check;

-- The version of the parameters (domain/mail/actions/requested_action.py).
alter table actions add column version smallint not null default 1 check (version between 1 and 1000);
-- Who asked, where no decision did: an API key, an operator, a job.
alter table actions add column requested_by text check (length(requested_by) between 1 and 200);
-- A person's decision: who, when, until when it was possible, and why.
alter table actions add column approver text check (length(approver) between 1 and 200);
alter table actions add column decided_at timestamptz;
alter table actions add column approval_expires_at timestamptz;
alter table actions add column approval_reason text check (length(approval_reason) between 1 and 1000);
-- The message that a forward or an answer became.
alter table actions add column sent_message_id text check (length(sent_message_id) between 1 and 100);

update actions set state = 'executing' where state = 'running';
update actions set state = 'done' where state = 'succeeded';
-- It held the id of the job that decided; from now on it is the job that executes.
update actions set job_id = null where job_id is not null;
-- Rows from before there was an executor: nobody may execute an order of months ago.
update actions set state = 'expired', finished_at = now(), started_at = null,
  error = jsonb_build_object('code', 'action.never_executed',
    'reason', 'recorded before there was an executor of actions; it was not executed')
where state in ('queued', 'executing');

alter table actions
  add constraint actions_kind_check check (kind in (
    'archive', 'apply_label', 'remove_label', 'mark_read', 'mark_unread', 'star', 'unstar', 'trash', 'restore', 'delete',
    'snooze', 'forward', 'auto_reply', 'undo')),
  add constraint actions_state_check check (state in (
    'queued', 'approved_pending', 'approved', 'executing', 'done', 'failed', 'denied', 'expired', 'undone', 'canceled')),
  add constraint final_when_finished check (
    (state in ('done', 'failed', 'denied', 'expired', 'undone', 'canceled')) = (finished_at is not null)),
  add constraint executing_was_started check (state <> 'executing' or (started_at is not null and job_id is not null)),
  add constraint done_can_say_how_to_undo check (state not in ('done', 'undone') or undo_hint is not null),
  add constraint failure_has_error check (state not in ('failed', 'expired') or error is not null),
  add constraint decided_as_a_whole check ((approver is null) = (decided_at is null)),
  add constraint decided_by_somebody check (state not in ('approved', 'denied') or approver is not null);

-- The end of a job finds its action by it.
create index actions_job on actions (job_id) where state in ('queued', 'approved', 'executing');
create index actions_listed on actions (org_id, created_at desc, id desc);

-- The cause is the undo's own action, the effect the action that it takes back (docs: seeds.md#001-167).
create table action_links (
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  account_id uuid not null,
  cause_id uuid not null,
  effect_id uuid not null,
  relation text not null check (relation in ('undo_of')),
  created_at timestamptz not null default now(),
  foreign key (org_id, account_id, cause_id) references actions (org_id, account_id, id),
  foreign key (org_id, account_id, effect_id) references actions (org_id, account_id, id),
  constraint links_two check (cause_id <> effect_id)
);
-- One undo wins, and an undo takes one action back.
create unique index one_undo_per_action on action_links (org_id, account_id, effect_id) where relation = 'undo_of';
create unique index one_action_per_undo on action_links (org_id, account_id, cause_id) where relation = 'undo_of';
call postroom.fence_table('action_links');
grant select, insert, update, delete on action_links to postroom_ledger;
grant select, insert on action_links to postroom_tenant;

insert into action_links (org_id, account_id, cause_id, effect_id, relation)
select org_id, account_id, id, undo_of, 'undo_of' from actions where undo_of is not null;
alter table actions drop column undo_of;

-- Not who decided and why: a decision is written by the doors, and never by a handler.
grant update (approval_expires_at, sent_message_id) on actions to postroom_tenant;

-- Refuses every move that the domain does not allow (MOVES in domain/mail/actions/status.py), whoever writes.
create function postroom.check_action_move() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if (old.state, new.state) not in (
    ('queued', 'executing'), ('queued', 'failed'), ('queued', 'expired'), ('queued', 'canceled'),
    ('approved_pending', 'approved'), ('approved_pending', 'denied'), ('approved_pending', 'expired'), ('approved_pending', 'canceled'),
    ('approved', 'executing'), ('approved', 'failed'), ('approved', 'expired'), ('approved', 'canceled'),
    ('executing', 'done'), ('executing', 'failed'), ('executing', 'canceled'),
    ('failed', 'executing'), ('done', 'undone')) then
    raise exception 'state: an action cannot go from % to %', old.state, new.state using errcode = 'PR004';
  end if;
  return null;
end
$$;
create trigger actions_move after update of state on actions for each row
  when (old.state is distinct from new.state) execute function postroom.check_action_move();

-- The end-of-job hook of actions.execute, actions.undo and outbound.send (status_after_end in domain/mail/actions/status.py): an action
-- whose job has ended without finishing it says so. A job that succeeds has finished its action, or handed it over to another job,
-- in its own settlement; a success that has done neither is a defect, and its action fails all the same.
create function postroom.action_job_ended(facts jsonb) returns void
language plpgsql as $$
begin
  update public.actions a set
    state = case
      -- An undo that failed may be asked for again, and there is one per action.
      when facts ->> 'state' <> 'canceled' or a.kind = 'undo' then 'failed'
      when facts ->> 'reason' = 'expired' and a.state <> 'executing' then 'expired'
      else 'canceled' end,
    error = jsonb_strip_nulls(jsonb_build_object(
      'code', coalesce(facts ->> 'error_code', 'action.job_' || (facts ->> 'state')),
      'reason', left(coalesce(facts ->> 'reason', 'its job ended without saying how the action ended'), 1000))),
    finished_at = now()
  where a.job_id = (facts ->> 'job_id')::uuid and a.state in ('queued', 'approved', 'executing');
end
$$;
call postroom.adopt_end_hook('postroom.action_job_ended(jsonb)');

-- Cancels the job that would wake a snoozed message, for the holder of a job of the same org: undo takes the snooze back. Returns
-- 'canceled'; 'running' when it is at work, and then does what undo does; 'ran' when it has ended; 'gone' when there is none any more.
create function postroom.cancel_wake(held_job uuid, held_token uuid, wake_job uuid, why text) returns text
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  holder jobs;
  wake jobs;
begin
  perform postroom.hold_claim(held_job, held_token);
  select * into holder from jobs where id = held_job;
  select * into wake from jobs where id = wake_job and org_id = holder.org_id and job_type = 'actions.unsnooze' for update;
  if wake.id is null then
    return 'gone';
  elsif wake.finished_at is not null then
    return 'ran';
  elsif wake.state <> 'queued' then
    return 'running';
  end if;
  update jobs set cancel_requested_at = now(), cancel_reason = why where id = wake_job;
  perform postroom.leave_claims(array[wake_job], '{}', states => array['canceled'], reasons => array[why],
    details => array[jsonb_build_object('reason', why)], by_actor_type => holder.actor_type, by_actor_id => holder.actor_id);
  return 'canceled';
end
$$;
grant execute on function postroom.cancel_wake(uuid, uuid, uuid, text) to postroom_ledger, postroom_tenant;
