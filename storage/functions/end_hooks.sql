-- End-of-job hooks: an SQL function that a job type names (job_types.on_end) updates the domain rows that waited for a job, in the
-- transaction that ends the job. docs/explanation/life-of-a-job.md#end-of-job-hooks says what a hook may do.

-- Makes a function an end-of-job hook; the file that creates the function calls this right after. It may be called by `caller` alone.
-- The function takes the facts as one jsonb and returns void. Its file drops it first: a hook belongs to postroom_hooks, the owner of the
-- schema may drop it, and only its own owner could replace it.
create or replace procedure postroom.adopt_end_hook(hook regprocedure, caller name default current_user)
language plpgsql as $$
begin
  execute format('alter function %s security definer set search_path = pg_catalog, public, pg_temp', hook);
  execute format('revoke all on function %s from public', hook);
  -- The new owner of a function needs the right to create it there.
  grant create on schema postroom to postroom_hooks;
  execute format('alter function %s owner to postroom_hooks', hook);
  revoke create on schema postroom from postroom_hooks;
  set local role postroom_hooks;
  execute format('grant execute on function %s to %I', hook, caller);
  reset role;
end
$$;

-- Checks the function that a job type names, and returns its name; NULL stays NULL. Raises PR002, on_end and the reason.
create or replace function postroom.checked_end_hook(hook text) returns text
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
grant execute on function postroom.checked_end_hook to postroom_ledger;

-- Ends the sessions of handlers whose transaction is older than any job may take, by `margin`, and returns how many. Owned as a hook is: the role has
-- the tenants' rights, and only who has these may end their sessions.
drop function if exists postroom.end_old_sessions;
create function postroom.end_old_sessions(margin interval) returns bigint
language sql as $$
  select count(*) filter (where pg_terminate_backend(s.pid)) from pg_stat_activity s
  where s.datname = current_database() and s.usename in ('postroom_tenant', 'postroom_auditor')
    and s.xact_start < clock_timestamp() - (select max(t.deadline) from job_types t) - margin
$$;
call postroom.adopt_end_hook('postroom.end_old_sessions(interval)', 'postroom_ledger');

-- The facts of a job that has ended, as its hook gets them.
create or replace function postroom.end_hook_facts(of_job uuid) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_build_object(
    'job_id', j.id, 'org_id', j.org_id, 'job_type', j.job_type, 'state', j.state,
    'reason', case j.state when 'canceled' then j.cancel_reason when 'succeeded' then null else j.error ->> 'reason' end,
    'error_code', case when j.state in ('failed', 'dead') then j.error ->> 'code' end,
    'output', j.output, 'finished_at', j.finished_at, 'attempt', j.attempt)
  from jobs j where j.id = of_job and j.finished_at is not null
$$;

-- Calls the hook of a job type with the facts of a job, as postroom_hooks and for the job's org. What the hook raises reaches the
-- caller, and so does a constraint that it leaves broken: deferred constraints are checked here and not at the commit, where they
-- would undo all settlements of the transaction. False when there is nothing to call: no facts, or the type names no hook any more.
create or replace function postroom.call_end_hook(facts jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  hook text := (select t.on_end from job_types t where t.name = facts ->> 'job_type');
  org text := current_setting('postroom.org', true);
  org_seal text := current_setting('postroom.org_seal', true);
  project text := current_setting('postroom.project', true);
begin
  if hook is null then
    return false;
  end if;
  perform set_config('postroom.org', facts ->> 'org_id', true), set_config('postroom.org_seal', postroom.seal_of(facts ->> 'org_id'), true),
    set_config('postroom.project', '', true);
  execute format('select postroom.%I($1)', hook) using facts;
  set constraints all immediate;
  perform set_config('postroom.org', coalesce(org, ''), true), set_config('postroom.org_seal', coalesce(org_seal, ''), true),
    set_config('postroom.project', coalesce(project, ''), true);
  return true;
end
$$;

-- Defers the hooks of an org's jobs of a type for a while, and forgets pauses that are over.
create or replace function postroom.pause_hooks(of_org uuid, of_type text, why text, for_time interval) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  delete from hook_pauses where ctid = any (array(select p.ctid from hook_pauses p where p.until <= now() for update skip locked));
  insert into hook_pauses (org_id, job_type, cause, until) values (of_org, of_type, why, now() + for_time);
end
$$;

-- Calls the hooks of jobs that have ended, each in its own subtransaction. Nothing that a hook does can undo the settlement:
--   a hook that raises is rolled back;
--   one that waits for a lock for more than 200 ms, or is part of a deadlock, is rolled back; the hooks after it in the statement wait
--     for 10 ms at most, and those of its org and type are deferred for ten seconds;
--   one that sleeps or loops is ended by the caller's statement_timeout and rolled back. That timeout is not armed again within a
--     statement. So the hooks that are left in the statement are deferred, and those of the org and type for five minutes.
-- Each of these is audited as job.hook_failed. Each of these, and each deferred hook, is kept in owed_end_hooks and becomes a job
-- maintenance.run_end_hook. A hook is deferred, too, when the caller has no statement_timeout or one above a minute, and when the
-- statement's hooks have taken a second. A handler's transaction defers no hooks of later statements: its timeouts are its own.
create or replace function postroom.run_end_hooks(of_jobs uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  bound interval := current_setting('statement_timeout')::interval;
  is_bounded boolean := bound between interval '1 ms' and interval '1 minute';
  defer_after timestamptz := clock_timestamp() + least(interval '1 second', bound / 2);
  lock_bound text := current_setting('lock_timeout');
  most_wait text := '200ms';
  is_engine boolean := not postroom.is_tenant();
  has_follow_ups boolean := exists (select from job_types where name = 'maintenance.run_end_hook');
  paused text[] := '{}';
  ended record;
  cause text;
  code text;
  stack text;
begin
  for ended in
    select j.id, j.org_id, j.project_id, j.job_type, j.attempt, j.actor_type, j.actor_id, j.request_id, j.correlation_id, t.on_end,
      j.org_id || j.job_type as hooks_of,
      (select count(*) filter (where p.org_id = j.org_id) > 0 or count(distinct p.org_id) filter (where p.cause = 'timed_out') >= 3
       from hook_pauses p where p.job_type = j.job_type and p.until > now()) as is_paused
    from unnest(of_jobs) with ordinality as o (id, place) join jobs j on j.id = o.id join job_types t on t.name = j.job_type
    order by o.place
  loop
    cause := null;
    if not is_bounded or ended.is_paused or ended.hooks_of = any (paused) or clock_timestamp() > defer_after then
      cause := 'deferred';
    else
      begin
        perform set_config('lock_timeout', most_wait, true);
        perform postroom.call_end_hook(postroom.end_hook_facts(ended.id));
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
    if cause in ('timed_out', 'waited') then
      paused := paused || ended.hooks_of;
      is_bounded := is_bounded and cause <> 'timed_out';
      most_wait := '10ms';
      if is_engine then
        perform postroom.pause_hooks(ended.org_id, ended.job_type, cause,
          case cause when 'timed_out' then interval '5 minutes' else interval '10 seconds' end);
      end if;
    end if;
    if cause is not null then
      insert into owed_end_hooks (job_id, org_id, job_type, facts)
      values (ended.id, ended.org_id, ended.job_type, postroom.end_hook_facts(ended.id));
    end if;
    -- Without the type nobody could call the hook, and the settlement stands all the same.
    if cause is not null and has_follow_ups then
      perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
        'job_type', 'maintenance.run_end_hook', 'org_id', ended.org_id, 'project_id', ended.project_id,
        'payload', jsonb_build_object('job_id', ended.id, 'cause', cause),
        'request_id', ended.request_id, 'correlation_id', ended.correlation_id, 'parent_id', ended.id)));
    end if;
  end loop;
end
$$;

-- Calls the hook that a held job maintenance.run_end_hook is for, in the holder's transaction. False when there is nothing to call: the
-- hook has run, or its type names none any more. It waits for a lock for a second at most, and its holder tries again later.
create or replace function postroom.repeat_end_hook(held_job uuid, held_token uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  lock_bound text := current_setting('lock_timeout');
  owed jsonb;
  called boolean;
begin
  perform postroom.hold_claim(held_job, held_token);
  perform set_config('lock_timeout', '1s', true);
  delete from owed_end_hooks o using jobs h
  where h.id = held_job and h.job_type = 'maintenance.run_end_hook' and o.job_id = (h.payload ->> 'job_id')::uuid and o.org_id = h.org_id
  returning o.facts into owed;
  called := owed is not null and postroom.call_end_hook(owed);
  perform set_config('lock_timeout', lock_bound, true);
  return called;
end
$$;
grant execute on function postroom.repeat_end_hook to postroom_ledger, postroom_tenant;
