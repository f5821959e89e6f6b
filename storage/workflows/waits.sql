-- columns: asking_node
n.approval_id, n.org_id, n.run_id, r.project_id, r.workflow, n.node, n.item, n.state, n.input ->> 'question' as question, n.input -> 'show' as show,
  n.roles, n.started_at, n.wait_until, n.finished_at, n.error, n.decided_by, n.decided_at, n.decision_reason

-- name: lock_events_of_run
-- Lets nobody else send an event to this run until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('postroom workflow events: ' || %(run_id)s::uuid, 0))

-- name: state_of_event
-- Whether a run may take an event of this name: its state, whether it has a node that waits for such events, whether such a wait is not
-- over, and how many events are kept, counted up to a bound.
select r.state, r.org_id,
  exists (select from workflow_nodes n where n.run_id = r.id and n.item = -1 and n.wait_name = %(name)s) as is_known,
  exists (
    select from workflow_nodes n
    where n.run_id = r.id and n.item = -1 and n.wait_name = %(name)s and n.finished_at is null
      and (n.state <> 'waiting' or n.wait_until is null or n.wait_until > clock_timestamp())) as is_open,
  (select count(*) from (
    select from workflow_events e where e.run_id = r.id and e.taken_by_node is null limit %(most)s) as kept) as kept
from workflow_runs r where r.id = %(run_id)s

-- name: keep_event
-- An event, until a wait takes it.
insert into workflow_events (org_id, run_id, name, payload, sent_by) values (%(org_id)s, %(run_id)s, %(name)s, %(payload)s, %(sent_by)s)
returning id as event_id, at

-- name: list_events
-- The events of a run, in the order in which they came.
select id as event_id, run_id, name, payload, sent_by, at, taken_by_node
from workflow_events where run_id = %(run_id)s and (%(after_at)s::timestamptz is null or (at, id) > (%(after_at)s, %(after_event_id)s::uuid))
order by at, id limit %(limit)s

-- name: decide_node
-- A decision about a node that still waits for one: of two, and of one and the end of its time, the first counts.
update workflow_nodes set
  state = case when %(approve)s then 'succeeded' else 'failed' end, finished_at = now(),
  output = case when %(approve)s then jsonb_strip_nulls(jsonb_build_object('approved', true, 'by', %(by)s::text, 'reason', %(reason)s::text)) end,
  error = case when not %(approve)s then jsonb_build_object('code', %(denied)s::text,
    'reason', 'denied by ' || %(by)s::text || coalesce(': ' || %(reason)s::text, '')) end,
  decided_by = %(by)s, decided_at = now(), decision_reason = %(reason)s
where approval_id = %(approval_id)s and state = 'waiting' and wait_until > clock_timestamp()
returning run_id

-- name: get_asking_node
-- A node that a person is, or was, asked about.
select columns(asking_node) from workflow_nodes n join workflow_runs r on r.id = n.run_id where n.approval_id = %(approval_id)s

-- name: list_asking_nodes
-- Nodes of an org about which a person is asked, the newest first.
select columns(asking_node) from workflow_nodes n join workflow_runs r on r.id = n.run_id
where n.org_id = %(org_id)s and n.state = 'waiting' and n.approval_id is not null
  and (%(last_at)s::timestamptz is null or (n.started_at, n.approval_id) < (%(last_at)s, %(last_id)s::uuid))
order by n.started_at desc, n.approval_id desc
limit %(limit)s
