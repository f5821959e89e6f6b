-- name: list_kept_events
-- Events of a run that no wait has taken, the oldest first.
select id as event_id, name, at from workflow_events where run_id = %(run_id)s and taken_by_node is null order by at, id

-- name: list_event_waits
-- Nodes that wait for an event, the longest waiting first.
select node, wait_name, wait_until from workflow_nodes
where run_id = %(run_id)s and finished_at is null and wait_name is not null and state = 'waiting'
order by started_at, node

-- name: take_events
-- Each of these waits takes its event; one that has ended meanwhile takes none.
with taken as (
  update workflow_nodes n set state = 'succeeded', output = e.payload, finished_at = now()
  from unnest(%(nodes)s::text[], %(event_ids)s::uuid[]) as t (node, event_id)
  join workflow_events e on e.id = t.event_id and e.run_id = %(run_id)s and e.taken_by_node is null
  where n.run_id = %(run_id)s and n.node = t.node and n.item = -1 and n.state = 'waiting'
  returning n.node, e.id
)
update workflow_events e set taken_by_node = t.node, taken_by_item = -1 from taken t where e.id = t.id
returning e.id

-- name: list_due_nodes
-- Nodes and items whose time is over, the longest over first.
select node, item, state, job_id, child_run, input from workflow_nodes
where run_id = %(run_id)s and finished_at is null and wait_until <= now()
order by wait_until limit %(limit)s

-- name: end_waits
-- Waits whose time has come end; where somebody has decided just before, that stands. Returns those about which a person was asked.
update workflow_nodes n set state = e.state, output = e.output, error = e.error, finished_at = now()
from unnest(%(nodes)s::text[], %(states)s::text[], %(outputs)s::jsonb[], %(errors)s::jsonb[]) as e (node, state, output, error)
where n.run_id = %(run_id)s and n.node = e.node and n.item = -1 and n.state = 'waiting'
returning n.approval_id

-- name: next_due_time
-- When the next time of a node or an item is over.
select min(wait_until) as at from workflow_nodes where run_id = %(run_id)s and wait_until is not null and finished_at is null

-- name: set_timer
-- Which advance comes by time, and when.
update workflow_runs set timer_at = %(at)s, timer_job = %(job_id)s where id = %(run_id)s

-- name: list_running_children
-- Runs of nodes that have not been asked to stop.
select child_run from workflow_nodes
where run_id = %(run_id)s and state = 'running' and child_run is not null and stopped_for is null
order by node, item limit %(limit)s

-- name: cancel_child_runs
-- Has runs of nodes canceled. Before their nodes are written: the end of such a run locks both in this order, too.
update workflow_runs r set cancel_requested_at = now(), cancel_reason = %(reason)s
where r.id = any (%(run_ids)s::uuid[]) and r.parent_run = %(run_id)s and r.state = 'running' and r.cancel_requested_at is null
returning r.id as run_id

-- name: stop_with_outer_run
-- A run is canceled because a run around it is being stopped, whose own request comes down one level after the other; the node for which it was
-- made is stopped with it.
with recursive outer_runs as (
  select p.id, p.parent_run, p.cancel_reason, p.failure from workflow_runs p where p.id = %(parent_run)s
  union all
  select p.id, p.parent_run, p.cancel_reason, p.failure from workflow_runs p join outer_runs o on p.id = o.parent_run
),
stopping as (
  select coalesce(cancel_reason, failure ->> 'reason') as reason from outer_runs where num_nonnulls(cancel_reason, failure) > 0 limit 1
),
noted as (
  update workflow_nodes n set stopped_for = 'canceled', wait_until = null
  from stopping
  where n.run_id = %(parent_run)s and n.node = %(node)s and n.item = %(item)s and n.state = 'running' and n.stopped_for is null
)
update workflow_runs r set cancel_requested_at = now(), cancel_reason = s.reason
from stopping s where r.id = %(run_id)s and r.state = 'running' and r.cancel_requested_at is null
returning r.id

-- name: stop_nodes
-- Notes of nodes and items that run why their work is asked to stop; returns their jobs.
update workflow_nodes n set stopped_for = %(why)s, wait_until = null
from (
  select o.node, o.item from workflow_nodes o
  where o.run_id = %(run_id)s and o.state = 'running' and o.stopped_for is null
    and (o.job_id is not null or o.child_run = any (%(child_runs)s::uuid[]))
    and (%(nodes)s::text[] is null or (o.node, o.item) in (select * from unnest(%(nodes)s::text[], %(items)s::int[])))
  order by o.node, o.item limit %(limit)s for no key update skip locked
) as running
where n.run_id = %(run_id)s and n.node = running.node and n.item = running.item
returning n.job_id

-- name: cancel_jobs_of_nodes
-- Asks for jobs of nodes to be canceled; those that are queued end at once, and their nodes with them. Returns those that somebody has locked.
select j as job_id from postroom.cancel_node_jobs(%(run_id)s, %(job_ids)s::uuid[], %(reason)s) as j

-- name: take_back_stops
-- Nodes and items whose jobs could not be asked are still to be stopped, those whose time is over as before.
update workflow_nodes set stopped_for = null, wait_until = case when %(why)s = 'timeout' then now() end
where run_id = %(run_id)s and job_id = any (%(job_ids)s::uuid[]) and state = 'running'

-- name: has_work_to_stop
-- Whether there is something in a run that begins no more that has not been canceled, or asked to stop.
select exists (
  select from workflow_nodes
  where run_id = %(run_id)s and finished_at is null
    and (state in ('pending', 'waiting') or (stopped_for is null and num_nonnulls(job_id, child_run) > 0))) as is_there

-- name: cancel_open_nodes
-- Nodes that have not begun, and those that wait, end as canceled; returns those about which a person was asked.
with open as materialized (
  select node, item from workflow_nodes
  where run_id = %(run_id)s and finished_at is null and state in ('pending', 'waiting')
  order by node, item limit %(limit)s for no key update skip locked
)
update workflow_nodes n set state = 'canceled', finished_at = now(),
  -- An item that a resume has put back did not begin in this round, and its node does not count it.
  counted = n.item >= 0
from open o where n.run_id = %(run_id)s and n.node = o.node and n.item = o.item
returning n.node, n.item, n.approval_id

-- name: list_stopped_lists
-- Nodes with items of which none is at work any more, in a run that begins no more.
select node, items_total, items_started, items_done, items_failed, items_canceled from workflow_nodes
where run_id = %(run_id)s and item = -1 and finished_at is null and items_total is not null and state = 'running'
  and items_started = items_done + items_failed + items_canceled

-- name: note_deadline
-- The time of a run is over: why it is being stopped.
update workflow_runs set failure = %(failure)s where id = %(run_id)s and failure is null

-- name: end_run
-- A run has ended; its cost is that of its nodes.
update workflow_runs r set
  state = %(state)s, output = %(output)s, failure = %(failure)s, finished_at = now(),
  cost_microcents = r.cost_microcents + (
    select coalesce(sum(n.cost_microcents), 0)::bigint from workflow_nodes n where n.run_id = r.id)
where r.id = %(run_id)s and r.state = 'running'
returning r.cost_microcents

-- name: end_node_of_run
-- The node for which a run was made ends with it.
update workflow_nodes n set
  state = case
    when %(state)s = 'succeeded' then 'succeeded'
    when %(state)s = 'canceled' and n.stopped_for in ('canceled', 'deadline') then 'canceled'
    else 'failed' end,
  output = case when %(state)s = 'succeeded' then %(output)s::jsonb end,
  error = case
    when %(state)s = 'succeeded' or %(state)s = 'canceled' and n.stopped_for in ('canceled', 'deadline') then null
    when n.stopped_for = 'timeout' then jsonb_build_object('code', 'timeout', 'reason', 'the time of the node was over')
    else %(error)s::jsonb end,
  cost_microcents = n.cost_microcents + %(cost)s, wait_until = null, finished_at = now()
where n.run_id = %(parent_run)s and n.node = %(node)s and n.item = %(item)s and n.child_run = %(run_id)s and n.state = 'running'
returning n.run_id
