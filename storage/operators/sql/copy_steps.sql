-- A replay begins where the dead job stood: no answer is paid for twice, and none is counted twice.
insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents, started_at)
select %(target)s, org_id, name, result, 0, 0, started_at from job_steps where job_id = %(source)s
returning name
