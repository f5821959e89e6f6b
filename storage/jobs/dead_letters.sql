-- name: list_open_letters
-- Open dead letters after a position, the newest first: by their own index.
select * from dead_letters
where state = 'open' and (created_at, id) < (%(at)s, %(last_id)s)
order by created_at desc, id desc limit %(limit)s

-- name: list_dead_letters
-- Dead letters in a state, or in any, between two positions, the newest first.
select * from dead_letters
where (created_at, id) < (%(at)s, %(last_id)s)
  and created_at >= %(reached)s and (%(state)s::text is null or state = %(state)s)
order by created_at desc, id desc limit %(limit)s

-- name: look_back_at_dead_letters
-- How far a look at so many of them reaches; no row when that is to the end.
select created_at as reached from dead_letters
where (created_at, id) < (%(at)s, %(last_id)s)
order by created_at desc, id desc offset %(most)s limit 1

-- name: release_dead_job
-- Lets another job have the key of a dead one, and returns what its replay inherits.
with freed as (
  update idempotency_keys k set expires_at = now()
  from jobs j
  where j.id = %(job_id)s and j.state = 'dead' and j.guarded
    and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind <> 'effect'
)
select project_id, priority, parent_id, idempotency_key, guarded,
  (select k.kind from idempotency_keys k where k.org_id = jobs.org_id and k.key = idempotency_key and k.job_id = id and k.kind <> 'effect') as space,
  retry_base_s, retry_cap_s, correlation_id, traceparent
from jobs where id = %(job_id)s and state = 'dead'

-- name: hand_over_effects
-- A job that does another again is answerable for the effects that this one has begun: they are kept as long as it may rely on them.
-- `hand_over_shared_effects` follows, in a statement of its own: this one may wait for a key that names another job then.
update idempotency_keys set job_id = %(target)s
where job_id = %(source)s and kind = 'effect'
returning key

-- name: hand_over_shared_effects
-- As `hand_over_effects`, for the effects whose keys name another job. It sees what was committed while that statement waited.
update effect_jobs set job_id = %(target)s
where job_id = %(source)s
returning key

-- name: copy_steps
-- A replay begins where the dead job stood: no answer is paid for twice, and none is counted twice.
insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents, started_at)
select %(target)s, org_id, name, result, 0, 0, started_at from job_steps where job_id = %(source)s
returning name

-- name: find_doubtful_effects
-- The effects of a job of which nobody knows whether they happened.
select key from idempotency_keys
where org_id = %(org_id)s and job_id = %(job_id)s and kind = 'effect' and status = 'unknown'
order by key
for update

-- name: rule_effect
-- A person found out whether an effect happened: the next attempt gets its result, or may cause it. Of one that a person has ruled to have
-- happened, which still says what was unknown, they may say once more what it gave.
update idempotency_keys set status = %(status)s, result_ref = %(result)s, last_seen_at = now(), request = null,
  expires_at = greatest(expires_at, now() + postroom.keep_effects_for())
where org_id = %(org_id)s and key = %(key)s and kind = 'effect'
  and (status = 'unknown' or (status = 'succeeded' and error_ref is not null and %(status)s = 'succeeded'))
returning key

-- name: lock_job_to_retry
-- A job that somebody wants to have done again, held until the transaction ends, and the job that was made of it before.
select j.id as job_id, j.org_id, j.project_id, j.job_type, j.state, j.priority, j.payload, j.payload_version, j.idempotency_key,
  j.guarded, (select k.kind from idempotency_keys k where k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind <> 'effect') as space,
  j.retry_base_s, j.retry_cap_s, j.parent_id, j.correlation_id, j.traceparent, j.created_at,
  (select a.data ->> 'replay_job_id' from audit_log a where a.job_id = j.id and a.event = 'job.replayed' limit 1) as replay_job_id
from jobs j
where j.id = %(job_id)s and (%(org_id)s::uuid is null or j.org_id = %(org_id)s::uuid)
for update of j

-- name: release_ended_job
-- Lets another job have the key of a job that has ended.
update idempotency_keys k set expires_at = now()
from jobs j
where j.id = %(job_id)s and j.finished_at is not null and j.guarded
  and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind <> 'effect'
