-- name: list_nodes
-- Nodes of a run, or the items of one of its nodes, in the order of their names and numbers; without what they were given and gave.
select node, item, state, pending, job_id, child_run, error, output_refused, skipped_because, wait_name, wait_until, approval_id, items_total,
  items_started, items_done, items_failed, items_canceled, round, cost_microcents, started_at, finished_at
from workflow_nodes
where run_id = %(run_id)s
  and (%(of_node)s::text is null and item = -1 or node = %(of_node)s and item >= 0)
  and (%(after_node)s::text is null or (node, item) > (%(after_node)s, %(after_item)s::integer))
order by node, item limit %(limit)s

-- name: get_node
-- One node of a run, or one item of a node, with what it was given and gave.
select node, item, state, pending, job_id, child_run, error, output_refused, skipped_because, wait_name, wait_until, approval_id, items_total,
  items_started, items_done, items_failed, items_canceled, round, cost_microcents, started_at, finished_at, input, output
from workflow_nodes where run_id = %(run_id)s and node = %(node)s and item = %(item)s

-- name: list_node_ends
-- How each node of a run stands.
select node, state, skipped_because, error from workflow_nodes where run_id = %(run_id)s and item = -1
