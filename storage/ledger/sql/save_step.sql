-- Keeps a step's result under the caller's claim, so that a later attempt gets it instead of paying for it again. Returns no
-- row when the claim is lost. The same again, after the answer to its commit was lost, changes nothing.
with claim as (
  select j.id, j.org_id, j.attempt from jobs j
  where j.id = %(job_id)s and j.claim_token = %(token)s and j.state in ('claimed', 'running') for share
),
kept as (
  insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents, started_at)
  select c.id, c.org_id, %(name)s, %(result)s, c.attempt, %(cost)s, now() - %(took)s::interval from claim c
  on conflict (job_id, name) do nothing
)
select c.id from claim c
