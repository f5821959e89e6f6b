-- Reminders: what becomes of one whose job has ended without it ringing.

-- The end-of-job hook of reminders.deliver. A reminder with a rule goes on with its next due time, no sooner than in an hour: the cause may
-- be there still. One without a rule waits for its dead letter to be replayed; a job that was canceled cancels it.
drop function if exists postroom.reminder_job_ended(jsonb);
create function postroom.reminder_job_ended(facts jsonb) returns void
language plpgsql as $$
begin
  if facts ->> 'state' = 'succeeded' then
    return;
  end if;
  update public.reminders r set
    state = case when r.following_at is not null then 'pending' else 'canceled' end,
    due_at = case when r.following_at is not null then greatest(r.following_at, now() + interval '1 hour') end,
    occurrence = r.occurrence + 1, snoozed_until = null, repeats = 0, changed_at = now()
  from public.jobs j
  where j.id = (facts ->> 'job_id')::uuid and r.org_id = j.org_id and r.id = (j.payload ->> 'reminder_id')::uuid
    and r.state = 'queued' and r.occurrence = (j.payload ->> 'occurrence')::integer
    and (r.following_at is not null or facts ->> 'state' = 'canceled');
end
$$;
call postroom.adopt_end_hook('postroom.reminder_job_ended(jsonb)');
