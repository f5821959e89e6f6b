-- Ends a run with what it came to and what was said in each turn; the same again changes nothing.
with ended as (
  update agent_runs set status = %(status)s, stopped_by = %(stopped_by)s, reason = %(reason)s, turns = %(turns)s,
    cost_microcents = %(cost)s, refused_calls = %(refused_calls)s, pending_actions = %(pending_actions)s, output_preview = %(preview)s,
    finished_at = now()
  where id = %(run_id)s and status = 'running'
  returning org_id, id
),
told as (
  insert into agent_turns (org_id, run_id, turn, stop_reason, said, calls, cost_microcents)
  select e.org_id, e.id, t.place, t.turn ->> 'stop_reason', t.turn ->> 'said', t.turn -> 'calls', (t.turn ->> 'cost')::bigint
  from ended e, jsonb_array_elements(%(told)s) with ordinality as t (turn, place)
  on conflict do nothing
)
select id from ended
