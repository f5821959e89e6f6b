-- name: hold_action_state
-- Where an action stands, held until the end of the transaction: a decision waits for it, or has come before.
select state from actions where id = %(approval_id)s for share

-- name: hold_node_state
-- The same of a node that asks.
select state from workflow_nodes where approval_id = %(approval_id)s for share
