-- name: count_ended_nodes
-- Ends that are not counted yet, as many as are asked for, are counted by this transaction, which has locked the run: a node's at the nodes
-- that need it and at the run. A run that has ended has no such end. Returns how many items of which node have ended how, which nodes have, and
-- how many are left. One that somebody has locked is passed over, and left to an advance that comes soon. A row without a node says that there
-- are more: locked, or above the limit.
with ended as materialized (
  select n.ctid as place from workflow_nodes n
  where n.run_id = %(run_id)s and n.finished_at is not null and not n.counted
  order by n.node, n.item limit %(limit)s for no key update skip locked
),
taken as (
  update workflow_nodes n set counted = true where n.ctid = any (array(select e.place from ended e))
  returning n.node, n.item >= 0 as is_item, n.state, n.dependants
),
-- As in the statements below, a node looks its value up in an object: the planner cannot know how many nodes a run has, takes them for one
-- or two, and would compare each node of the run with each line of a list.
needs as materialized (
  select jsonb_object_agg(d.node, d.ended) as ended
  from (select u.node, count(*) as ended from taken t cross join unnest(t.dependants) as u (node) group by u.node) as d
),
released as (
  update workflow_nodes n set pending = n.pending - ((select d.ended from needs d) ->> n.node)::smallint
  where n.run_id = %(run_id)s and n.node = any (array(select jsonb_object_keys(d.ended) from needs d)) and n.item = -1
    and n.finished_at is null
),
run as (
  update workflow_runs r set nodes_left = r.nodes_left - t.nodes
  from (select count(*) as nodes from taken where not is_item) as t
  where r.id = %(run_id)s and t.nodes > 0
  returning r.nodes_left
)
select t.node, t.is_item, t.state, count(*)::int as ends, r.nodes_left
from taken t left join run r on true group by t.node, t.is_item, t.state, r.nodes_left
union all
select null, false, null, 0, null from workflow_nodes n where n.run_id = %(run_id)s and n.finished_at is not null and not n.counted
having count(*) > (select count(*) from ended)

-- name: count_items
-- Adds ended items to their nodes.
update workflow_nodes n set (items_done, items_failed, items_canceled) = (
  select n.items_done + c.done, n.items_failed + c.failed, n.items_canceled + c.canceled
  from jsonb_to_record(%(counts)s::jsonb -> n.node) as c (done int, failed int, canceled int))
where n.run_id = %(run_id)s and n.node = any (array(select jsonb_object_keys(%(counts)s::jsonb))) and n.item = -1
returning n.node, n.items_total, n.items_started, n.items_done, n.items_failed, n.items_canceled

-- name: list_next_nodes
-- Nodes all of whose needs have ended, and that nobody has judged; of one that goes on from an earlier round, what it was given.
select node, input, child_run, items_total
from workflow_nodes where run_id = %(run_id)s and item = -1 and state = 'pending' and pending = 0
order by node limit %(limit)s

-- name: read_nodes
-- How nodes stand, and of those that expressions read what they gave.
select node, state, skipped_because, error, items_total, output_refused, case when node = any (%(read)s::text[]) then output end as output
from workflow_nodes where run_id = %(run_id)s and item = -1 and node = any (%(nodes)s::text[])

-- name: measure_outputs
-- How large the outputs of a node's items are together.
select coalesce(sum(octet_length(output::text)), 0) as bytes from workflow_nodes where run_id = %(run_id)s and node = %(node)s and item >= 0

-- name: read_outputs
-- The outputs of a node's items, in their order.
select item, output, output_refused from workflow_nodes where run_id = %(run_id)s and node = %(node)s and item >= 0 order by item

-- name: end_nodes
-- Ends nodes that have no work, or whose items have ended.
update workflow_nodes n set (state, error, skipped_because, finished_at) = (
  select e.state, e.error, e.skipped_because, now()
  from jsonb_to_record(%(ended)s::jsonb -> n.node) as e (state text, error jsonb, skipped_because text))
where n.run_id = %(run_id)s and n.node = any (array(select jsonb_object_keys(%(ended)s::jsonb))) and n.item = -1
  and n.finished_at is null
returning n.node

-- name: begin_nodes
-- The work of nodes begins, or their waits do; of jobs the ends are waited for.
with begun as (
  update workflow_nodes n set (state, input, job_id, child_run, wait_until, approval_id, roles, started_at) = (
    select b.state, b.input, b.job_id, b.child_run, b.wait_until, b.approval_id, b.roles, now()
    from jsonb_to_record(%(begun)s::jsonb -> n.node)
      as b (state text, input jsonb, job_id uuid, child_run uuid, wait_until timestamptz, approval_id uuid, roles text[]))
  where n.run_id = %(run_id)s and n.node = any (array(select jsonb_object_keys(%(begun)s::jsonb))) and n.item = -1
  returning n.job_id
)
insert into job_waiters (job_id, org_id, hook)
select job_id, %(org_id)s, 'workflow_nodes_ended' from begun where job_id is not null

-- name: begin_lists
-- Nodes with items begin: the list of each, and the number of its items. One that goes on has counted those that have succeeded.
update workflow_nodes n set
  state = 'running', input = %(lists)s::jsonb -> n.node, items_total = jsonb_array_length(%(lists)s::jsonb -> n.node),
  items_started = coalesce(n.items_started, 0), items_done = coalesce(n.items_done, 0), items_failed = coalesce(n.items_failed, 0),
  items_canceled = coalesce(n.items_canceled, 0), started_at = now()
where n.run_id = %(run_id)s and n.node = any (array(select jsonb_object_keys(%(lists)s::jsonb))) and n.item = -1

-- name: add_items_to_run
-- Items that a node of the run has.
update workflow_runs set items = items + %(items)s where id = %(run_id)s

-- name: list_open_lists
-- Nodes of whose items some have not begun; where the next one that never began is.
select n.node, n.input as items, n.items_total, n.items_started, n.items_done + n.items_failed + n.items_canceled as items_ended,
  coalesce((select i.item + 1 from workflow_nodes i where i.run_id = n.run_id and i.node = n.node order by i.item desc limit 1), 0) as next_item
from workflow_nodes n
where n.run_id = %(run_id)s and n.item = -1 and n.finished_at is null and n.items_total is not null and n.state = 'running'
  and n.items_started < n.items_total
order by n.node

-- name: list_put_back_items
-- Items of a node that a resume has put back, and what they were given.
select item, input, child_run from workflow_nodes
where run_id = %(run_id)s and node = %(node)s and item >= 0 and state = 'pending' and pending = 0
order by item limit %(limit)s

-- name: begin_items
-- Items of a node begin, or fail before they do; of their jobs the ends are waited for.
with begun as (
  insert into workflow_nodes as n (run_id, node, item, org_id, state, input, job_id, child_run, wait_until, error, round, started_at, finished_at)
  select %(run_id)s, %(node)s, b.item, %(org_id)s, b.state, b.input, b.job_id, b.child_run, b.wait_until, b.error, %(round)s, now(),
    case when b.state = 'failed' then now() end
  from unnest(%(items)s::int[], %(states)s::text[], %(inputs)s::jsonb[], %(job_ids)s::uuid[], %(child_runs)s::uuid[],
    %(wait_untils)s::timestamptz[], %(errors)s::jsonb[]) as b (item, state, input, job_id, child_run, wait_until, error)
  on conflict (run_id, node, item) do update set
    state = excluded.state, input = excluded.input, job_id = excluded.job_id, child_run = excluded.child_run,
    wait_until = excluded.wait_until, error = excluded.error, started_at = now(), finished_at = excluded.finished_at
  returning n.job_id
),
counted as (
  update workflow_nodes n set items_started = n.items_started + cardinality(%(items)s::int[])
  where n.run_id = %(run_id)s and n.node = %(node)s and n.item = -1
)
insert into job_waiters (job_id, org_id, hook)
select job_id, %(org_id)s, 'workflow_nodes_ended' from begun where job_id is not null

-- name: begin_part
savepoint part

-- name: keep_part
release savepoint part

-- name: undo_part
rollback to savepoint part
