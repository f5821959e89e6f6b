-- name: forget_nodes
-- Nodes that a newer version lacks, with their items; and the items of nodes that begin anew.
select postroom.forget_nodes(%(run_id)s, %(dropped)s::text[], %(anew)s::text[])

-- name: reset_nodes
-- Nodes that begin anew are as when a run begins; what a node has cost stays. Returns those that were there.
update workflow_nodes n set
  state = 'pending', pending = a.pending, dependants = array(select jsonb_array_elements_text(a.dependants)), counted = false, job_id = null, child_run = null, stopped_for = null, input = null, output = null,
  output_refused = null, error = null, skipped_because = null, wait_name = a.wait_name, wait_until = null, approval_id = null, roles = null,
  decided_by = null, decided_at = null, decision_reason = null, items_total = null, items_started = null, items_done = null,
  items_failed = null, items_canceled = null, round = %(round)s, started_at = null, finished_at = null
from unnest(%(nodes)s::text[], %(pending)s::smallint[], %(dependants)s::jsonb[], %(wait_names)s::text[])
  as a (node, pending, dependants, wait_name)
where n.run_id = %(run_id)s and n.node = a.node and n.item = -1
returning n.node

-- name: mend_nodes
-- Nodes that go on where they stand, and their items that have not succeeded: what they were given stays, but for changed nodes, and so do
-- the run of a node and the items that have succeeded. Returns the nodes.
update workflow_nodes n set
  state = 'pending', pending = 0, dependants = case when n.item = -1 then array(select jsonb_array_elements_text(m.dependants)) else '{}' end,
  counted = false, job_id = null, stopped_for = null, output = null, output_refused = null, error = null,
  skipped_because = null, wait_until = null, approval_id = null, roles = null, decided_by = null, decided_at = null, decision_reason = null,
  input = case when n.items_total is not null or not m.is_changed then n.input end,
  child_run = case when not m.is_changed then n.child_run end,
  wait_name = m.wait_name,
  items_started = n.items_done, items_failed = n.items_failed * 0, items_canceled = n.items_canceled * 0,
  round = %(round)s, started_at = null, finished_at = null
from unnest(%(nodes)s::text[], %(changed)s::boolean[], %(dependants)s::jsonb[], %(wait_names)s::text[])
  as m (node, is_changed, dependants, wait_name)
where n.run_id = %(run_id)s and n.node = m.node and (n.item = -1 or n.state <> 'succeeded')
returning n.node, n.item

-- name: keep_cost_of_gone_nodes
-- While a run goes on its row has the cost of what has no row any more; with its end come the costs of its nodes.
update workflow_runs r set cost_microcents = greatest(0, r.cost_microcents - coalesce((
  select sum(n.cost_microcents) from workflow_nodes n where n.run_id = r.id), 0))
where r.id = %(run_id)s
