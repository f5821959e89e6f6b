-- Workflows: who has a run go on, and what a run learns from the jobs of its nodes.

-- Has runs go on that have not ended: one advance for each, in the name and the project of the run. An advance that waits already will
-- see what this transaction has written, for nobody claims it before the transaction ends. A tenant names runs of its own org.
-- publisher: true when the caller publishes the returned jobs' hints after its commit; if it cannot, the relay does so ten seconds later.
-- Also those of an org that is over its burst: the advance has the turn that a job of its run has had. False: the jobs wait for the relay,
-- which is woken.
create or replace function postroom.advance_runs(of_runs uuid[], publisher boolean default true)
returns table (job_id uuid, job_type text, queue text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
  of_type job_types;
  believes boolean := not postroom.is_tenant();
  -- An end-of-job hook has an org and no job: it enqueues in the name that stands here.
  is_hook boolean := not believes and coalesce(current_setting('postroom.job', true), '') = '';
  origin text := coalesce(current_setting('postroom.origin', true), '');
  origin_seal text := coalesce(current_setting('postroom.origin_seal', true), '');
  own_name text;
  run workflow_runs;
  payload jsonb;
  waiting uuid;
begin
  select t.* into of_type from job_types t where t.name = 'workflows.advance';
  for run in
    select r.* from workflow_runs r
    where r.id = any (of_runs) and r.state = 'running' and (believes or r.org_id = postroom.current_org()) order by r.id
  loop
    payload := jsonb_build_object('run_id', run.id);
    -- Shared, so that the ends of many nodes do not wait for each other. A claim takes none that is locked, and whoever is claiming or
    -- ending it is not waited for.
    select k.job_id into waiting from idempotency_keys k
    where k.org_id = run.org_id and k.key = postroom.unique_key(of_type, run.org_id, run.project_id, payload) and k.kind = 'job'
      and k.status = 'pending' and k.expires_at > now()
    for share skip locked;
    if found and publisher then
      -- Once more: a claim that found the key locked has put the job off.
      return query select j.id, j.job_type::text, j.queue::text from jobs j
      where j.id = waiting and j.state = 'queued' and j.parked_by is null and j.run_at <= now();
      continue;
    elsif found then
      -- For the same reason, or because its hint is lost, it would wait for its next check: the relay takes it up at once. Who claims it
      -- just now is not waited for.
      update jobs j set published_at = null, next_check_at = null, backlog_since = j.run_at
      where j.id = (select q.id from jobs q
        where q.id = waiting and q.state = 'queued' and q.backlog_since is null and q.parked_by is null and q.run_at <= now()
        for no key update skip locked);
      if found then
        perform pg_notify('postroom_due', '');
      end if;
      continue;
    end if;
    if is_hook then
      own_name := encode(convert_to(jsonb_build_object('actor_type', run.actor_type, 'actor_id', run.actor_id,
        'request_id', run.request_id, 'correlation_id', run.correlation_id)::text, 'UTF8'), 'hex');
      perform set_config('postroom.origin', own_name, true),
        set_config('postroom.origin_seal', postroom.seal_of('origin:' || run.org_id || ':' || own_name), true);
    end if;
    return query
    select e.job_id, e.job_type, e.queue
    from postroom.enqueue_job(of_type.name, run.org_id, payload, of_project => run.project_id,
      by_actor_type => run.actor_type, by_actor => run.actor_id, given_request => run.request_id,
      given_correlation => run.correlation_id, publisher => advance_runs.publisher, hint_timeout => '10 seconds') as e;
    if is_hook then
      perform set_config('postroom.origin', origin, true), set_config('postroom.origin_seal', origin_seal, true);
    end if;
  end loop;
end
$$;
grant execute on function postroom.advance_runs to postroom_ledger, postroom_tenant;

-- The hook of jobs that nodes wait for, by postroom.job_waiters. Writes how the nodes, and items of nodes, of these jobs have ended, and
-- has their runs go on. Returns the jobs whose hints are to be published, as postroom.advance_runs does.
drop function if exists postroom.workflow_nodes_ended(jsonb);
create function postroom.workflow_nodes_ended(facts jsonb) returns jsonb
language plpgsql as $$
declare
  runs uuid[];
begin
  -- Each node looks its facts up. The planner takes the nodes of a statement for one, and would compare each of them with each end.
  facts := (select jsonb_object_agg(f.value ->> 'job_id', f.value) from jsonb_array_elements(facts) as f (value));
  with written as (
    update public.workflow_nodes n set (state, output, output_refused, error, cost_microcents, wait_until, finished_at) = (
      select
        case
          when e.state = 'succeeded' then 'succeeded'
          when e.state = 'canceled' and n.stopped_for in ('canceled', 'deadline') then 'canceled'
          else 'failed' end,
        case when e.state = 'succeeded' then e.output end,
        case when e.state = 'succeeded' and e.output is null then
          format('the output has %s bytes, and a workflow keeps 65536', e.output_bytes) end,
        case when e.state <> 'succeeded' then jsonb_build_object(
          'code', case when n.stopped_for = 'timeout' then 'timeout' else coalesce(e.error_code, e.state) end,
          'reason', left(coalesce(nullif(e.reason, ''), e.state), 1000)) end,
        n.cost_microcents + e.cost_microcents, null::timestamptz, e.finished_at
      from jsonb_to_record(facts -> n.job_id::text) as e (state text, error_code text, reason text, output jsonb, output_bytes integer,
        cost_microcents bigint, finished_at timestamptz))
    where n.job_id = any (array(select k::uuid from jsonb_object_keys(facts) as k)) and n.state = 'running'
    returning n.run_id
  )
  select array_agg(distinct w.run_id) into runs from written w;
  return (select jsonb_agg(to_jsonb(a)) from postroom.advance_runs(runs) as a);
end
$$;
call postroom.adopt_end_hook('postroom.workflow_nodes_ended(jsonb)');

-- The end-of-job hook of workflows.run and workflows.advance. Who cancels the job that has a run begin or go on cancels the run: it would
-- stand still for ever. An advance that died is left to the replay of its letter; the replay of a job that begins a run begins another, so
-- the run of one that died fails, and can be resumed.
drop function if exists postroom.workflow_advance_ended(jsonb);
create function postroom.workflow_advance_ended(facts jsonb) returns void
language plpgsql as $$
declare
  run uuid;
begin
  if facts ->> 'state' = 'canceled' then
    update public.workflow_runs r set
      cancel_requested_at = coalesce(r.cancel_requested_at, now()),
      cancel_reason = coalesce(r.cancel_reason, left(nullif(facts ->> 'reason', ''), 1000), 'canceled')
    from public.jobs j
    where j.id = (facts ->> 'job_id')::uuid and r.state = 'running' and r.id = case
      when j.job_type = 'workflows.run' then j.id
      else (j.payload ->> 'run_id')::uuid end
    returning r.id into run;
  elsif facts ->> 'state' = 'dead' then
    update public.workflow_runs r set failure = jsonb_build_object(
      'code', coalesce(facts ->> 'error_code', 'dead'), 'reason', left(coalesce(nullif(facts ->> 'reason', ''), 'dead'), 1000), 'nodes', '[]'::jsonb)
    where r.id = (facts ->> 'job_id')::uuid and r.state = 'running' and r.failure is null and r.cancel_requested_at is null
    returning r.id into run;
  end if;
  if run is not null then
    perform from postroom.advance_runs(array[run], publisher => false);
  end if;
end
$$;
call postroom.adopt_end_hook('postroom.workflow_advance_ended(jsonb)');

-- Asks for jobs of a run's nodes to be canceled, as far as nobody else has locked them: it waits for no handler that holds its job's row.
-- A queued job ends here, and its node with it. Nodes name their jobs; only those are asked whose end is waited for. Returns those that
-- were locked, and are still to be asked.
drop function if exists postroom.cancel_node_jobs(uuid, uuid[], text);
create function postroom.cancel_node_jobs(of_run uuid, of_jobs uuid[], reason text) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  run workflow_runs;
  wanted uuid[];
  free uuid[];
  queued uuid[];
begin
  select r.* into run from workflow_runs r where r.id = of_run and (not postroom.is_tenant() or r.org_id = postroom.current_org());
  select array_agg(w.job_id) into wanted from job_waiters w join workflow_nodes n on n.job_id = w.job_id
  where w.job_id = any (of_jobs) and w.org_id = run.org_id and w.facts is null and n.run_id = run.id;
  select array_agg(f.id) into free from postroom.lock_free(wanted) as f (id);
  with requested as (
    update jobs j set cancel_requested_at = now(), cancel_reason = cancel_node_jobs.reason
    where j.id = any (free) and j.org_id = run.org_id and j.finished_at is null and j.cancel_requested_at is null
    returning j.*
  ),
  audited as (
    insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
    select 'job.cancel_requested', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
      jsonb_build_object('reason', cancel_node_jobs.reason)
    from requested where state <> 'queued'
  )
  select array_agg(id order by id) into queued from requested where state = 'queued';
  if queued is not null then
    perform from postroom.leave_claims(queued, '{}', states => array_fill('canceled'::text, array[cardinality(queued)]),
      reasons => array_fill(cancel_node_jobs.reason, array[cardinality(queued)]),
      details => array_fill(jsonb_build_object('reason', cancel_node_jobs.reason), array[cardinality(queued)]));
  end if;
  return query select w.id from unnest(wanted) as w (id) where w.id <> all (coalesce(free, '{}'));
end
$$;
grant execute on function postroom.cancel_node_jobs to postroom_ledger, postroom_tenant;

-- Deletes nodes of a run that does not go on, with their items, and the items of others: nobody but the owner may delete rows for a tenant.
create or replace function postroom.forget_nodes(of_run uuid, nodes text[], of_items text[]) returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  delete from workflow_nodes n using workflow_runs r
  where r.id = of_run and n.run_id = r.id and (not postroom.is_tenant() or r.org_id = postroom.current_org())
    and (n.node = any (nodes) or (n.item >= 0 and n.node = any (of_items)))
$$;
grant execute on function postroom.forget_nodes to postroom_ledger, postroom_tenant;

-- An erasure writes a document anew. What hash it had would tell whom it was about, and would have whoever saves the original again find this.
create or replace function postroom.forget_hash() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.hash := sha256(uuid_send(gen_random_uuid()));
  return new;
end
$$;
create or replace trigger definitions_forget_hash before update of document on workflow_definitions
  for each row when (new.document is distinct from old.document) execute function postroom.forget_hash();
