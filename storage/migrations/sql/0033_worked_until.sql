-- Until when the time that a run has worked is counted: of an attempt that is killed, the steps that it kept since then count.
alter table agent_runs add column worked_until timestamptz not null default now();

-- Notes until when the time is counted; a trigger does so, because workers of the release before write the time as well.
create function postroom.mark_worked_until() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.worked_until := now();
  return new;
end
$$;
create trigger mark_worked_until before update of worked on agent_runs
for each row execute function postroom.mark_worked_until();
