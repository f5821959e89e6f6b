-- Bulk actions: what becomes of one whose job has ended before it.

-- Aborts a bulk action that nobody has aborted, and says why. The hook's own role sees what is the system org's alone.
create or replace function postroom.stop_bulk_action(bulk_id uuid, why text) returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  update public.bulk_actions set state = 'aborted', stopped = left(why, 1000) where id = bulk_id and state = 'running'
$$;
grant execute on function postroom.stop_bulk_action to postroom_hooks;

-- The end-of-job hook of bulk_actions.run. One that has succeeded has come to the end, or has left the rest to its child.
drop function if exists postroom.bulk_job_ended(jsonb);
create function postroom.bulk_job_ended(facts jsonb) returns void
language plpgsql as $$
begin
  if facts ->> 'state' <> 'succeeded' then
    perform postroom.stop_bulk_action((j.payload ->> 'bulk_id')::uuid,
      format('its job %s is %s: %s', j.id, j.state, coalesce(facts ->> 'reason', 'no reason was given')))
    from public.jobs j where j.id = (facts ->> 'job_id')::uuid;
  end if;
end
$$;
call postroom.adopt_end_hook('postroom.bulk_job_ended(jsonb)');
