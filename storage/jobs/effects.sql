-- name: begin_effect
-- The intent of an effect, under the caller's claim: what stood there before, or no row when the claim is lost.
select b.what, b.result, b.in_flight_for, b.claim_left, b.known_for, b.first_request
from postroom.begin_effect(%(job_id)s, %(token)s, %(key)s, %(strategy)s, %(keep_for)s, %(lasts)s, %(request)s) as b

-- name: announce_call
-- The call of an intent begins now and sends this: how long the attempt may still take, or NULL when the claim is lost.
select postroom.announce_call(%(job_id)s, %(token)s, %(key)s, %(lasts)s, %(request)s) as claim_left

-- name: finish_effect
-- How an effect ended, under the claim that began it; false when the claim is lost.
select postroom.finish_effect(%(job_id)s, %(token)s, %(key)s, %(status)s, %(result)s, %(error)s) as finished

-- name: find_effect
-- A row when any job of the org has begun this effect.
select status, begun_at from idempotency_keys where org_id = %(org_id)s and key = %(key)s and kind = 'effect'

-- name: save_step
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

-- name: record_restoration
-- From now on what each org has lost is in doubt. No row for a moment that is still to come.
with restored as materialized (
  select m.lost_from, m.restored_at from (select %(lost_from)s::timestamptz as lost_from, clock_timestamp() as restored_at) as m
  where m.lost_from <= m.restored_at
),
doubted as (
  insert into restorations (org_id, restored_at, lost_from, actor_id)
  select o.id, r.restored_at, r.lost_from, %(actor)s from restored r cross join orgs o
)
select lost_from, restored_at, (select count(*) from jobs where finished_at is null) as open_jobs from restored
