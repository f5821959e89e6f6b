-- Why a job is where it is: what domain/jobs/monitoring/why.py makes a sentence of. One look, which reads a bounded number of rows. The parts are
-- called by why_of_job alone, as the owner.

-- How many jobs of a backlog the org of a job has before it, up to `most`: those of higher priority, then the older ones. It goes from priority
-- to priority and reads no other org's jobs.
create or replace function postroom.jobs_before(j jobs, most integer) returns bigint
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  with recursive levels as (
    (select b.priority from jobs b where b.queue = j.queue and b.backlog_since is not null and b.priority > j.priority
     order by b.priority desc limit 1)
    union all
    select n.priority from levels l cross join lateral (
      select b.priority from jobs b
      where b.queue = j.queue and b.backlog_since is not null and b.priority < l.priority and b.priority > j.priority
      order by b.priority desc limit 1
    ) as n
  )
  select count(*) from (
    select from levels l cross join lateral (
      select from jobs b
      where b.queue = j.queue and b.priority = l.priority and b.org_id = j.org_id and b.backlog_since is not null
      order by b.backlog_since, b.id limit most
    ) as urgent
    union all
    (select from jobs b
     where b.queue = j.queue and b.priority = j.priority and b.org_id = j.org_id and b.backlog_since is not null
       and (b.backlog_since, b.id) < (j.backlog_since, j.id)
     order by b.backlog_since, b.id limit most)
    limit most
  ) as before
$$;

-- The weights of the orgs that wait in a queue at a priority, of a hundred at most. It goes from org to org, as the relay does.
create or replace function postroom.weights_waiting(in_queue text, at_priority integer) returns bigint
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  with recursive waiting as (
    (select org_id from jobs where queue = in_queue and priority = at_priority and backlog_since is not null order by org_id limit 1)
    union all
    select n.org_id from waiting w cross join lateral (
      select org_id from jobs
      where queue = in_queue and priority = at_priority and backlog_since is not null and org_id > w.org_id order by org_id limit 1
    ) as n
  )
  select coalesce(sum(o.weight), 0) from (select org_id from waiting limit 100) as w join orgs o on o.id = w.org_id
$$;

-- Where a job is in the order of those that a gate or a concurrency key has parked, and how many others there are; of the first `most`.
-- A tenant hears of its own org's alone.
create or replace function postroom.line_of(j jobs, most integer) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_build_object(
    'others', count(*) filter (where p.id <> j.id),
    'ahead', count(*) filter (where (-p.priority, p.run_at, p.id) < (-j.priority, j.run_at, j.id)))
  from (
    select id, org_id, priority, run_at from jobs where parked_by = j.parked_by order by priority desc, run_at, id limit most
  ) as p
  where not postroom.is_tenant() or p.org_id = j.org_id
$$;

-- The causes for which a gate is closed, named as parked jobs name it. What an operator wrote, and who the operator is, are not the tenant's; of the
-- gates of a whole provider neither: what it answered was about another org's call.
create or replace function postroom.causes_of_gate(j jobs, gate text) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'scope', g.scope, 'key', g.key, 'cause', g.cause, 'until', g.until, 'closed_at', g.closed_at,
    'address', (select a.email from accounts a where g.scope = 'account' and a.org_id = j.org_id and a.id::text = g.key),
    'actor', case when not postroom.is_tenant() then g.actor end,
    'reason', case when not postroom.is_tenant() or (g.cause <> 'pause' and g.scope in ('org', 'account', 'org_provider')) then g.reason end
  ) order by coalesce(g.until, 'infinity') desc, g.cause), '[]')
  from closed_gates g
  where g.scope = split_part(gate, ':', 2) and g.key = substr(gate, length(split_part(gate, ':', 2)) + 7)
$$;

-- Who waits for a job, or goes on where it has ended: the node of a workflow that gave the work, and what its own run waits for.
create or replace function postroom.workflow_of(j jobs) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_build_object(
    'awaited_by', (
      select jsonb_build_object('run_id', n.run_id, 'node', n.node) from workflow_nodes n
      where n.job_id = j.id and n.org_id = j.org_id and n.finished_at is null limit 1),
    'run_goes_on', exists (select from workflow_runs r where r.id = j.id and r.org_id = j.org_id and r.state = 'running'),
    'run_awaits', (
      select jsonb_build_object('node', n.node, 'event', n.wait_name, 'approval_id', n.approval_id, 'since', n.started_at, 'until', n.wait_until)
      from (
        (select * from workflow_nodes where run_id = j.id and wait_until is not null and finished_at is null order by wait_until limit 100)
        union all
        (select * from workflow_nodes where run_id = j.id and finished_at is null and wait_name is not null order by node, item limit 100)
      ) as n
      where n.org_id = j.org_id and n.state = 'waiting' order by n.approval_id is null, n.started_at limit 1))
$$;

-- What became of a job that is dead or canceled: its letter, and who asked to cancel it, unless the job's handler did.
create or replace function postroom.end_of(j jobs) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_build_object(
    'letter', (
      select jsonb_build_object('letter_id', d.id, 'state', d.state, 'plan', d.plan, 'replay_job_id', d.replay_job_id, 'resolution', d.resolution,
        'resolved_by', d.resolved_by)
      from dead_letters d where j.state = 'dead' and d.job_id = j.id and d.org_id = j.org_id),
    'canceled_by', (
      select e.actor_id from (select * from audit_entries where job_id = j.id limit 500) as e
      where e.org_id = j.org_id and (e.event = 'job.cancel_requested' or (e.event = 'job.canceled' and e.actor_id <> j.actor_id))
      order by e.id limit 1))
$$;

-- Why the job came back to its queue the last time; null if it has more entries in the audit log than are looked at.
create or replace function postroom.last_return_of(j jobs) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select jsonb_build_object('cause', e.data ->> 'cause', 'code', e.data -> 'error' ->> 'code',
    'reason', left(coalesce(e.data -> 'error' ->> 'reason', e.data ->> 'reason'), 2000))
  from (select *, count(*) over () as entries from (select * from audit_entries where job_id = j.id limit 500) as known) as e
  where e.org_id = j.org_id and e.event = 'job.retried' and e.entries < 500
  order by e.id desc limit 1
$$;

-- All of it for one job; null where there is none, for a tenant none of its org. Whose worker it is, a tenant does not hear.
create or replace function postroom.why_of_job(of_job uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  of_tenant constant boolean := postroom.is_tenant();
  most constant integer := 1001;
  j jobs;
  gate text;
  facts jsonb;
begin
  select * into j from jobs
  where id = of_job
    and (not of_tenant or (org_id = postroom.current_org() and (postroom.current_project() <> project_id) is not true));
  if not found then
    return null;
  end if;
  -- By name: whoever has the claim's token could write as its holder (promise P4).
  facts := jsonb_build_object('now', now(), 'job_id', j.id, 'job_type', j.job_type, 'queue', j.queue, 'state', j.state, 'attempt', j.attempt,
    'max_attempts', j.max_attempts, 'losses', j.losses, 'suspect', j.suspect, 'run_at', j.run_at, 'expires_at', j.expires_at,
    'published_at', j.published_at, 'next_check_at', j.next_check_at, 'backlog_since', j.backlog_since, 'parked_by', j.parked_by,
    'claimed_at', j.claimed_at, 'started_at', j.started_at, 'finished_at', j.finished_at, 'deadline_at', j.claimed_at + j.deadline,
    'cancel_requested_at', j.cancel_requested_at, 'cancel_reason', j.cancel_reason, 'code', j.error ->> 'code',
    'reason', left(j.error ->> 'reason', 2000)) || postroom.workflow_of(j);
  if j.finished_at is not null then
    return facts || postroom.end_of(j);
  end if;
  if j.state <> 'queued' then
    return facts || jsonb_build_object('worker', (
      select jsonb_build_object('hostname', case when not of_tenant then w.hostname end, 'pid', case when not of_tenant then w.pid end,
        'lease_until', w.lease_until)
      from workers w where w.id = j.worker_id));
  end if;
  gate := case when j.parked_by like 'gate:%' then j.parked_by
    when j.parked_by is null and j.run_at <= now() then postroom.gate_of(j.org_id, j.job_type, j.queue, j.payload ->> 'account_id') end;
  return facts || jsonb_build_object(
    'gate', gate,
    'gates', postroom.causes_of_gate(j, gate),
    'line', case when j.parked_by is not null then postroom.line_of(j, most) end,
    'holders', (
      select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'taken_at', s.taken_at) order by s.slot)
      from (select * from serial_slots where 'key:' || j.serial_key = j.parked_by and serial_key = j.serial_key order by slot limit 3) as s),
    'ahead', case when j.backlog_since is not null then postroom.jobs_before(j, most) end,
    'weight', case when j.backlog_since is not null then (select o.weight from orgs o where o.id = j.org_id) end,
    'weights', case when j.backlog_since is not null and not of_tenant then postroom.weights_waiting(j.queue, j.priority) end,
    'returned', postroom.last_return_of(j),
    'workers_live', exists (select from workers where lease_until > now()),
    'relay_leads', exists (select from relay_leader where leads_until > now()));
end
$$;
revoke execute on function postroom.why_of_job from public;
grant execute on function postroom.why_of_job to postroom_ledger, postroom_tenant;
