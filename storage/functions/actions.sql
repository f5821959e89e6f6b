-- Actions: their moves, their end with their job, and the wake of a snoozed message.

-- Refuses every move that the domain does not allow (MOVES in domain/mail/actions/status.py), whoever writes.
create or replace function postroom.check_action_move() returns trigger
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
create or replace trigger actions_move after update of state on actions for each row
  when (old.state is distinct from new.state) execute function postroom.check_action_move();

-- The end-of-job hook of actions.execute, actions.execute_decided, actions.undo and outbound.send (status_after_end in
-- domain/mail/actions/status.py): an action whose job has ended without finishing it says so. A job that succeeds has finished its
-- action, or handed it over to another job, in its own settlement; a success that has done neither is a defect, and its action fails all the same.
drop function if exists postroom.action_job_ended(jsonb);
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
-- Refuses with 55P03 (lock_not_available) where somebody else has locked a job that waits in its queue. One that does not wait there is
-- not locked: the message's lock decides between it and the undo.
create or replace function postroom.cancel_wake(held_job uuid, held_token uuid, wake_job uuid, why text) returns text
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  holder jobs;
  wake jobs;
begin
  perform postroom.hold_claim(held_job, held_token);
  select * into holder from jobs where id = held_job;
  select * into wake from jobs where id = wake_job and org_id = holder.org_id and job_type = 'actions.unsnooze';
  if wake.state = 'queued' then
    select * into wake from jobs where id = wake_job for update nowait;
  end if;
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
grant execute on function postroom.cancel_wake to postroom_ledger, postroom_tenant;
