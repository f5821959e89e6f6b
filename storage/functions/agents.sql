-- Runs of agents end with their jobs.

-- Ends the run of a job that ended before its run did, so that no run stays 'running': the job failed, died, was canceled, or found
-- its profile disabled. Turns and cost are those of the answers that the job has kept.
drop function if exists postroom.agent_run_ended(jsonb);
create function postroom.agent_run_ended(facts jsonb) returns void language plpgsql as $$
declare
  canceled boolean := facts ->> 'state' = 'canceled';
begin
  update public.agent_runs r set
    status = case when canceled then 'stopped' else 'failed' end,
    stopped_by = case when canceled then 'canceled' end,
    reason = left(coalesce(nullif(facts ->> 'reason', ''), facts -> 'output' ->> 'classified_instead', facts ->> 'state'), 1000),
    turns = greatest(r.turns, kept.turns),
    cost_microcents = greatest(r.cost_microcents, kept.cost),
    finished_at = now()
  from (
    select count(*)::int as turns, coalesce(sum(s.cost_microcents), 0)::bigint as cost
    from public.job_steps s
    where s.job_id = (facts ->> 'job_id')::uuid and s.name like 'agent\_turn.%'
  ) kept
  where r.job_id = (facts ->> 'job_id')::uuid and r.org_id = (facts ->> 'org_id')::uuid and r.status = 'running';
end
$$;
call postroom.adopt_end_hook('postroom.agent_run_ended(jsonb)');
