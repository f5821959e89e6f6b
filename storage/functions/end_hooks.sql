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

-- The facts of jobs that have ended, as the hook that waits for them gets them: an array, and of a large output its size alone.
create or replace function postroom.waiter_facts(of_jobs uuid[]) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_agg(jsonb_build_object(
    'job_id', j.id, 'state', j.state,
    'reason', case j.state when 'canceled' then j.cancel_reason when 'succeeded' then null else j.error ->> 'reason' end,
    'error_code', case when j.state in ('failed', 'dead') then j.error ->> 'code' end,
    'output', case when octet_length(j.output::text) <= 65536 then j.output end, 'output_bytes', octet_length(j.output::text),
    'cost_microcents', j.cost_microcents, 'finished_at', j.finished_at) order by j.id)
  from jobs j where j.id = any (of_jobs) and j.finished_at is not null
$$;

-- Calls a hook with facts, as postroom_hooks and for an org; returns what it answers. What it raises reaches the caller, and so does a
-- constraint that it leaves broken: deferred constraints are checked here and not at the commit, where they would undo all settlements
-- of the transaction.
create or replace function postroom.call_hook(hook text, of_org uuid, facts jsonb) returns jsonb
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org text := current_setting('postroom.org', true);
  org_seal text := current_setting('postroom.org_seal', true);
  project text := current_setting('postroom.project', true);
  answer text;
begin
  perform set_config('postroom.org', of_org::text, true), set_config('postroom.org_seal', postroom.seal_of(of_org::text), true),
    set_config('postroom.project', '', true);
  execute format('select postroom.%I($1)', hook) into answer using facts;
  set constraints all immediate;
  perform set_config('postroom.org', coalesce(org, ''), true), set_config('postroom.org_seal', coalesce(org_seal, ''), true),
    set_config('postroom.project', coalesce(project, ''), true);
  return nullif(answer, '')::jsonb;
end
$$;

-- Calls the hook of a job type with the facts of a job. False when there is nothing to call: no facts, or the type names no hook any more.
create or replace function postroom.call_end_hook(facts jsonb) returns boolean
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  hook text := (select t.on_end from job_types t where t.name = facts ->> 'job_type');
begin
  if hook is not null then
    perform postroom.call_hook(hook, (facts ->> 'org_id')::uuid, facts);
  end if;
  return hook is not null;
end
$$;

-- Defers a hook for an org for a while, and forgets pauses that are over.
create or replace function postroom.pause_hooks(of_org uuid, of_hook text, why text, for_time interval) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  delete from hook_pauses where ctid = any (array(select p.ctid from hook_pauses p where p.until <= now() for update skip locked));
  insert into hook_pauses (org_id, hook, cause, until) values (of_org, of_hook, why, now() + for_time);
end
$$;

-- Which hooks hear that jobs have ended, in the order of the calls: the hook of a job's type once for each job, and the hook that waits for
-- jobs once for all jobs of an org, of which `ended` is the first. of_jobs: those whose type has a hook; of_children: those for which a
-- hook may wait. Both in sub-selects, for the planner must not see how many are given: it would plan each call anew, which takes ten times as
-- long as the call. Jobs are looked up row by row: the planner would join them to all of a table that was small when it planned.
create or replace function postroom.hooks_of_ends(of_jobs uuid[], of_children uuid[])
returns table (ended jobs, hook text, awaited uuid[], is_paused boolean)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select o.ended, o.hook, o.awaited,
    (select count(*) filter (where p.org_id = (o.ended).org_id) > 0 or count(distinct p.org_id) filter (where p.cause = 'timed_out') >= 3
     from hook_pauses p where p.hook = o.hook and p.until > now())
  from (
    select (select j from jobs j where j.id = c.id) as ended, coalesce(c.hook, (
      select t.on_end from job_types t where t.name = (select j.job_type from jobs j where j.id = c.id))) as hook, c.awaited, c.place
    from (
      select u.id, null as hook, null::uuid[] as awaited, u.place from unnest((select of_jobs)) with ordinality as u (id, place)
      union all
      select (array_agg(w.job_id order by w.job_id))[1], w.hook, array_agg(w.job_id order by w.job_id), null
      from job_waiters w
      where w.job_id = any ((select of_children)::uuid[]) and w.facts is null and w.org_id = (select j.org_id from jobs j where j.id = w.job_id)
      group by w.org_id, w.hook
    ) as c
    offset 0
  ) as o
  order by o.place
$$;

-- Keeps the facts of ends that a hook has not heard of, and enqueues the job that calls it.
create or replace function postroom.owe_hook(ended jobs, hook text, awaited uuid[], why text) returns void
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if awaited is null then
    insert into owed_end_hooks (job_id, org_id, job_type, facts)
    values (ended.id, ended.org_id, ended.job_type, postroom.end_hook_facts(ended.id));
  else
    update job_waiters w set facts = f.value
    from jsonb_array_elements(postroom.waiter_facts(awaited)) as f (value)
    where w.job_id = (f.value ->> 'job_id')::uuid and w.org_id = ended.org_id;
  end if;
  -- Without the type nobody could call the hook, and the settlement stands all the same.
  if exists (select from job_types where name = 'maintenance.run_end_hook') then
    perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
      'job_type', 'maintenance.run_end_hook', 'org_id', ended.org_id, 'project_id', ended.project_id,
      'payload', jsonb_strip_nulls(jsonb_build_object('job_id', ended.id, 'cause', why, 'hook', case when awaited is not null then hook end)),
      'request_id', ended.request_id, 'correlation_id', ended.correlation_id, 'parent_id', ended.id)));
  end if;
end
$$;

-- Calls the hooks of jobs that have ended (postroom.hooks_of_ends), each in its own subtransaction. Nothing that a hook does can undo the
-- settlement:
--   a hook that raises is rolled back;
--   one that waits for a lock for more than 200 ms, or is part of a deadlock, is rolled back; the hooks after it in the statement wait
--     for 10 ms at most, and it is deferred for its org for ten seconds;
--   one that sleeps or loops is ended by the caller's statement_timeout and rolled back. That timeout is not armed again within a
--     statement. So the hooks that are left in the statement are deferred, and it is deferred for its org for five minutes.
-- Each of these is audited as job.hook_failed. Of each of these, and of each deferred hook, the facts are kept (postroom.owe_hook). A hook
-- is deferred, too, when the caller has no statement_timeout or one above a minute, and when the statement's hooks have taken a second. A
-- handler's transaction defers no hooks of later statements: its timeouts are its own.
-- Returns the jobs whose hints are to be published after the commit: what hooks that waited for jobs have answered.
create or replace function postroom.run_end_hooks(of_jobs uuid[], of_children uuid[])
returns table (job_id uuid, job_type text, queue text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  bound interval := current_setting('statement_timeout')::interval;
  is_bounded boolean := bound between interval '1 ms' and interval '1 minute';
  defer_after timestamptz := clock_timestamp() + least(interval '1 second', bound / 2);
  lock_bound text := current_setting('lock_timeout');
  most_wait text := '200ms';
  is_engine boolean := not postroom.is_tenant();
  paused text[] := '{}';
  due record;
  ended jobs;
  cause text;
  code text;
  stack text;
  hints jsonb;
begin
  for due in select * from postroom.hooks_of_ends(of_jobs, of_children) loop
    cause := null;
    hints := null;
    ended := due.ended;
    if not is_bounded or due.is_paused or ended.org_id || due.hook = any (paused) or clock_timestamp() > defer_after then
      cause := 'deferred';
    else
      begin
        perform set_config('lock_timeout', most_wait, true);
        if due.awaited is null then
          perform postroom.call_end_hook(postroom.end_hook_facts(ended.id));
        else
          delete from job_waiters w where w.job_id = any (due.awaited) and w.org_id = ended.org_id;
          hints := postroom.call_hook(due.hook, ended.org_id, postroom.waiter_facts(due.awaited));
        end if;
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
      hints := null;
      -- Not PostgreSQL's message: it may repeat a value.
      insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
      values ('job.hook_failed', ended.org_id, ended.project_id, ended.actor_type, ended.actor_id, ended.request_id, ended.correlation_id,
              ended.id, ended.job_type, ended.attempt, jsonb_build_object(
                'hook', due.hook, 'cause', cause, 'sqlstate', code, 'at', substring(stack from 'PL/pgSQL function [^\n]*')));
    end if;
    if cause in ('timed_out', 'waited') then
      paused := paused || (ended.org_id || due.hook);
      is_bounded := is_bounded and cause <> 'timed_out';
      most_wait := '10ms';
      if is_engine then
        perform postroom.pause_hooks(ended.org_id, due.hook, cause,
          case cause when 'timed_out' then interval '5 minutes' else interval '10 seconds' end);
      end if;
    end if;
    if cause is not null then
      perform postroom.owe_hook(ended, due.hook, due.awaited, cause);
    end if;
    return query select h.* from jsonb_to_recordset(hints) as h (job_id uuid, job_type text, queue text);
  end loop;
end
$$;

-- Calls the hook that a held job maintenance.run_end_hook is for, in the holder's transaction. False when there is nothing to call: the
-- hook has run, or its type names none any more. One that waits for jobs hears of all ends of its org that it has not heard of, up to two
-- thousand. It waits for a lock for a second at most, and its holder tries again later.
create or replace function postroom.repeat_end_hook(held_job uuid, held_token uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  lock_bound text := current_setting('lock_timeout');
  held jobs;
  owed jsonb;
  called boolean := false;
begin
  perform postroom.hold_claim(held_job, held_token);
  perform set_config('lock_timeout', '1s', true);
  select j.* into held from jobs j where j.id = held_job and j.job_type = 'maintenance.run_end_hook';
  if held.payload ->> 'hook' is null then
    delete from owed_end_hooks o where o.job_id = (held.payload ->> 'job_id')::uuid and o.org_id = held.org_id
    returning o.facts into owed;
    called := owed is not null and postroom.call_end_hook(owed);
  else
    with gone as (
      delete from job_waiters w using (
        select u.job_id from job_waiters u
        where u.org_id = held.org_id and u.hook = held.payload ->> 'hook' and u.facts is not null
        order by u.job_id limit 2000 for update
      ) as uncalled
      where w.job_id = uncalled.job_id and w.org_id = held.org_id
      returning w.facts, w.hook
    )
    select jsonb_agg(g.facts) into owed from gone g;
    called := owed is not null;
    if called then
      perform postroom.call_hook(held.payload ->> 'hook', held.org_id, owed);
    end if;
  end if;
  perform set_config('lock_timeout', lock_bound, true);
  return called;
end
$$;
grant execute on function postroom.repeat_end_hook to postroom_ledger, postroom_tenant;
