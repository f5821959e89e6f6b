-- columns: run
r.id as run_id, r.org_id, r.project_id, r.workflow, r.version, r.pins, r.input, r.state, r.output, r.failure, r.round, r.nodes_left, r.items,
  r.deadline_at, r.timer_at, r.timer_job, r.parent_run, r.parent_node, r.parent_item, r.root_run, r.depth, r.created_at, r.resumed_at, r.finished_at,
  r.cancel_requested_at, r.cancel_reason, r.actor_type, r.actor_id, now() as read_at,
  (select d.xmin::text from workflow_definitions d where d.org_id = r.org_id and d.name = r.workflow and d.version = r.version) as written_by

-- name: add_run
-- A new run; none where the run is there already: its job begins what an operation has started.
insert into workflow_runs (id, org_id, project_id, workflow, version, pins, input, nodes_left, deadline_at, parent_run, parent_node, parent_item,
  root_run, depth, actor_type, actor_id, request_id, correlation_id)
values (%(run_id)s, %(org_id)s, %(project_id)s, %(workflow)s, %(version)s, %(pins)s, %(input)s, %(nodes_left)s, now() + %(deadline)s::interval,
  %(parent_run)s, %(parent_node)s, %(parent_item)s, %(root_run)s, %(depth)s, %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s)
on conflict (id) do nothing
returning id

-- name: add_nodes
-- The nodes of a new run, each with the number of its needs, and who needs it.
insert into workflow_nodes (run_id, node, org_id, pending, dependants, wait_name)
select %(run_id)s, n.node, %(org_id)s, n.pending, array(select jsonb_array_elements_text(n.dependants)), n.wait_name
from unnest(%(nodes)s::text[], %(pending)s::smallint[], %(dependants)s::jsonb[], %(wait_names)s::text[])
  as n (node, pending, dependants, wait_name)

-- name: lock_run
-- A run, for the one who takes it further; nobody else writes its counters before the transaction ends.
select columns(run), r.cost_microcents from workflow_runs r where r.id = %(run_id)s for no key update

-- name: get_run
-- A run that the transaction may see.
select columns(run),
  -- While it goes on, what its nodes have cost so far is in their rows.
  r.cost_microcents + case when r.finished_at is null
    then (select coalesce(sum(n.cost_microcents), 0)::bigint from workflow_nodes n where n.run_id = r.id) else 0 end as cost_microcents
from workflow_runs r where r.id = %(run_id)s

-- name: count_runs_inside
-- Runs inside an outermost one, at all depths.
select count(*)::integer as runs from (select from workflow_runs where root_run = %(root_run)s limit %(most)s) as r

-- name: list_runs
-- Runs of an org, the newest first; a filter that is null does not narrow the list.
select r.id as run_id, r.org_id, r.project_id, r.workflow, r.version, r.state, r.failure, r.round, r.nodes_left, r.items, r.deadline_at, r.parent_run,
  r.depth, r.cost_microcents, r.created_at, r.resumed_at, r.finished_at, r.cancel_requested_at, r.actor_type, r.actor_id
from workflow_runs r
where r.org_id = %(org_id)s
  and (%(workflow)s::text is null or r.workflow = %(workflow)s)
  and (%(states)s::text[] is null or r.state = any (%(states)s))
  and (%(since)s::timestamptz is null or r.created_at >= %(since)s)
  and (%(before)s::timestamptz is null or r.created_at < %(before)s)
  and (%(parent_run)s::uuid is not null or r.parent_run is null)
  and (%(parent_run)s::uuid is null or r.parent_run = %(parent_run)s)
  and (%(after_created_at)s::timestamptz is null or (r.created_at, r.id) < (%(after_created_at)s, %(after_run_id)s::uuid))
order by r.created_at desc, r.id desc
limit %(limit)s

-- name: list_failed_runs
-- Runs of a workflow that have failed since then, in the order in which they did; none of those inside other runs.
select r.finished_at, r.id as run_id
from workflow_runs r
where r.org_id = %(org_id)s and r.workflow = %(workflow)s and r.state = 'failed' and r.parent_run is null and r.finished_at >= %(since)s
  and (%(after_finished_at)s::timestamptz is null or (r.finished_at, r.id) > (%(after_finished_at)s, %(after_run_id)s::uuid))
order by r.finished_at, r.id
limit %(limit)s

-- name: request_cancel_of_run
-- A run that has not ended is to be canceled; who asked first gives the reason.
update workflow_runs set
  cancel_requested_at = coalesce(cancel_requested_at, now()), cancel_reason = coalesce(cancel_reason, %(reason)s)
where id = %(run_id)s and state = 'running'
returning id

-- name: advance_runs
-- Has runs go on by the relay, which is woken.
select count(*) as advances from postroom.advance_runs(%(run_ids)s::uuid[], publisher => false)

-- name: begin_round
-- An ended run goes on, by its version or by a newer one.
update workflow_runs set
  state = 'running', output = null, failure = null, round = round + 1, version = %(version)s, pins = %(pins)s, nodes_left = %(nodes_left)s,
  deadline_at = now() + %(deadline)s::interval, timer_at = null, timer_job = null, resumed_at = now(), finished_at = null,
  cancel_requested_at = null, cancel_reason = null
where id = %(run_id)s and state <> 'running'
returning id

-- name: count_items_of_run
-- Items that a run has by its nodes: those of nodes that begin anew are gone.
update workflow_runs r set items = coalesce((
  select sum(n.items_total) from workflow_nodes n where n.run_id = r.id and n.item = -1 and n.items_total is not null), 0)
where r.id = %(run_id)s


-- name: list_old_runs
-- Runs that ended long ago, and before each the runs inside it; none that somebody has locked.
with recursive old as (
  select id from workflow_runs where finished_at < now() - %(older_than)s::interval and parent_run is null
  order by finished_at, id limit %(limit)s for update skip locked
),
family as (
  select id, 0 as level from old
  union all
  select r.id, f.level + 1 from workflow_runs r join family f on r.parent_run = f.id
)
select id as run_id from family order by level desc, id limit %(limit)s

-- name: delete_nodes_of_runs
-- Nodes of runs that are to be deleted, some at a time.
delete from workflow_nodes where (run_id, node, item) in (
  select run_id, node, item from workflow_nodes where run_id = any (%(run_ids)s::uuid[]) limit %(limit)s
)
returning item

-- name: delete_runs
-- Runs whose nodes are deleted, with their events.
with events as (delete from workflow_events where run_id = any (%(run_ids)s::uuid[]))
delete from workflow_runs where id = any (%(run_ids)s::uuid[]) returning id
