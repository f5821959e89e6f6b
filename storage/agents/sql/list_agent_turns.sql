-- What was said in the turns of a run.
select turn, stop_reason, said, calls, cost_microcents from agent_turns where run_id = %(run_id)s order by turn
