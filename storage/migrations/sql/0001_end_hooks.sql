-- End-of-job hooks: an SQL function that a job type names (job_types.on_end) updates the domain rows that waited for a job, in the
-- transaction that ends the job. docs/explanation/life-of-a-job.md#end-of-job-hooks says what a hook may do.

-- Hooks run as postroom_hooks: under the tenants' policies and grants, for the org of the job, and with no login.
do $$
begin
  if not pg_has_role('postroom_hooks', 'postroom_tenant', 'member') then
    grant postroom_tenant to postroom_hooks;
  end if;
  -- The owner hands hooks over to that role, but does not act under its policies.
  if not pg_has_role(current_user, 'postroom_hooks', 'set') then
    execute format('grant postroom_hooks to %I with inherit false, set true', current_user);
  end if;
end
$$;

-- Makes a function an end-of-job hook; the migration that creates the function calls this right after.
-- The function takes the facts as one jsonb and returns void.
create procedure postroom.adopt_end_hook(hook regprocedure)
language plpgsql as $$
declare
  owner name := current_user;
begin
  execute format('alter function %s security definer set search_path = pg_catalog, public, pg_temp', hook);
  execute format('revoke all on function %s from public', hook);
  -- The new owner of a function needs the right to create it there.
  grant create on schema postroom to postroom_hooks;
  execute format('alter function %s owner to postroom_hooks', hook);
  revoke create on schema postroom from postroom_hooks;
  set local role postroom_hooks;
  execute format('grant execute on function %s to %I', hook, owner);
  reset role;
end
$$;

-- Checks the function that a job type names, and returns its name; NULL stays NULL. Raises PR002, on_end and the reason.
create function postroom.checked_end_hook(hook text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  found record;
  reason text;
begin
  if hook is null then
    return null;
  end if;
  select p.prosecdef, p.prorettype, p.proconfig, p.prosrc, pg_get_userbyid(p.proowner) as owner into found
  from pg_proc p
  where p.oid = to_regprocedure(format('postroom.%I(jsonb)', hook)) and p.prokind = 'f';
  reason := case
    when found.owner is null then 'there is no such function'
    when found.prorettype <> 'void'::regtype then 'it does not return void'
    when found.owner <> 'postroom_hooks' or not found.prosecdef then 'it was not adopted by postroom.adopt_end_hook'
    when found.proconfig is distinct from array['search_path=pg_catalog, public, pg_temp'] then 'it has settings of its own'
    -- Such a hook would outlive the statement_timeout that bounds it.
    when found.prosrc ~* 'query_canceled|57014' then 'it catches query_canceled'
  end;
  if reason is not null then
    raise exception 'on_end: postroom.%(jsonb): %', hook, reason using errcode = 'PR002';
  end if;
  return hook;
end
$$;
grant execute on function postroom.checked_end_hook(text) to postroom_ledger;

-- Calls the hook of a job that has ended, as postroom_hooks and for the job's org. What the hook raises reaches the caller.
-- False when there is nothing to call: the job is gone, or its type names no hook any more.
create function postroom.call_end_hook(of_job uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  ended jobs;
  hook text;
  org text := current_setting('postroom.org', true);
  org_seal text := current_setting('postroom.org_seal', true);
begin
  select * into ended from jobs where id = of_job and finished_at is not null;
  select t.on_end into hook from job_types t where t.name = ended.job_type;
  if hook is null then
    return false;
  end if;
  perform set_config('postroom.org', ended.org_id::text, true), set_config('postroom.org_seal', postroom.seal_of(ended.org_id::text), true);
  execute format('select postroom.%I($1)', hook) using jsonb_build_object(
    'job_id', ended.id, 'org_id', ended.org_id, 'job_type', ended.job_type, 'state', ended.state,
    'reason', case ended.state when 'canceled' then ended.cancel_reason when 'succeeded' then null else ended.error ->> 'reason' end,
    'error_code', case when ended.state in ('failed', 'dead') then ended.error ->> 'code' end,
    'output', ended.output, 'finished_at', ended.finished_at, 'attempt', ended.attempt);
  perform set_config('postroom.org', coalesce(org, ''), true), set_config('postroom.org_seal', coalesce(org_seal, ''), true);
  return true;
end
$$;

-- Calls the hooks of jobs that have ended, each in its own subtransaction. Nothing that a hook does can undo the settlement:
--   a hook that raises is rolled back;
--   one that waits for a lock for more than 200 ms, or is part of a deadlock, is rolled back;
--   one that sleeps or loops is ended by the caller's statement_timeout and rolled back. That timeout is not armed again within a
--     statement. So the hooks that are left in the statement are deferred, and those of the job type for five minutes.
-- Each of these is audited as job.hook_failed. Each of these, and each deferred hook, becomes a job maintenance.run_end_hook.
-- A hook is deferred, too, when the caller has no statement_timeout or one above a minute, and when the statement's hooks
-- have taken a second.
create function postroom.run_end_hooks(of_jobs uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  bound interval := current_setting('statement_timeout')::interval;
  is_bounded boolean := bound between interval '1 ms' and interval '1 minute';
  defer_after timestamptz := clock_timestamp() + least(interval '1 second', bound / 2);
  lock_bound text := current_setting('lock_timeout');
  ended record;
  cause text;
  code text;
  stack text;
begin
  for ended in
    select j.id, j.org_id, j.project_id, j.job_type, j.attempt, j.actor_type, j.actor_id, j.request_id, j.correlation_id, t.on_end,
      coalesce(t.hook_paused_until > now(), false) as is_paused
    from unnest(of_jobs) with ordinality as o (id, place) join jobs j on j.id = o.id join job_types t on t.name = j.job_type
    order by o.place
  loop
    cause := null;
    if not is_bounded or ended.is_paused or clock_timestamp() > defer_after then
      cause := 'deferred';
    else
      begin
        perform set_config('lock_timeout', '200ms', true);
        perform postroom.call_end_hook(ended.id);
        perform set_config('lock_timeout', lock_bound, true);
      exception
        when query_canceled then
          cause := 'timed_out';
          get stacked diagnostics code = returned_sqlstate, stack = pg_exception_context;
        when lock_not_available or deadlock_detected then
          cause := 'waited';
          get stacked diagnostics code = returned_sqlstate, stack = pg_exception_context;
        when assert_failure or others then
          cause := 'raised';
          get stacked diagnostics code = returned_sqlstate, stack = pg_exception_context;
      end;
    end if;
    if cause in ('timed_out', 'waited', 'raised') then
      -- Not PostgreSQL's message: it may repeat a value.
      insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
      values ('job.hook_failed', ended.org_id, ended.project_id, ended.actor_type, ended.actor_id, ended.request_id, ended.correlation_id,
              ended.id, ended.job_type, ended.attempt, jsonb_build_object(
                'hook', ended.on_end, 'cause', cause, 'sqlstate', code, 'at', substring(stack from 'PL/pgSQL function [^\n]*')));
    end if;
    if cause = 'timed_out' then
      is_bounded := false;
      -- A publisher of the catalogue that has locked the row is not waited for.
      update job_types t set hook_paused_until = now() + interval '5 minutes'
      where t.name = (select l.name from job_types l where l.name = ended.job_type for no key update skip locked);
    end if;
    if cause is not null then
      perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
        'job_type', 'maintenance.run_end_hook', 'org_id', ended.org_id, 'project_id', ended.project_id,
        'payload', jsonb_build_object('job_id', ended.id, 'cause', cause),
        'request_id', ended.request_id, 'correlation_id', ended.correlation_id, 'parent_id', ended.id)));
    end if;
  end loop;
end
$$;

-- Calls the hook that a held job maintenance.run_end_hook is for, in the holder's transaction; false when there is nothing to call.
create function postroom.repeat_end_hook(held_job uuid, held_token uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  of_job uuid;
begin
  perform postroom.hold_claim(held_job, held_token);
  select e.id into of_job
  from jobs h join jobs e on e.id = (h.payload ->> 'job_id')::uuid and e.org_id = h.org_id
  where h.id = held_job and h.job_type = 'maintenance.run_end_hook';
  return of_job is not null and postroom.call_end_hook(of_job);
end
$$;
grant execute on function postroom.repeat_end_hook(uuid, uuid) to postroom_ledger, postroom_tenant;
