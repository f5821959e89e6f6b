-- How long the attempts of a run have worked. It never falls.
update agent_runs set worked = greatest(worked, %(worked)s)
where id = %(run_id)s and status = 'running'
returning id
