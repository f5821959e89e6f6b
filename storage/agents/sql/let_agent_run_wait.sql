-- A run waits from now on for money, quota or consent.
update agent_runs set waits_since = now()
where id = %(run_id)s and status = 'running' and waits_since is null
returning id
