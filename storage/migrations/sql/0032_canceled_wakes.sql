-- An undo waits for nobody while it holds its own job (docs/explanation/life-of-a-job.md#locks-on-jobs): a stopping node locks the jobs
-- that it holds one after the other, and a cancellation those that it was given, so that either could wait for the undo meanwhile.

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
