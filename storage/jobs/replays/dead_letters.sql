-- columns: of_retries
j.id as job_id, j.org_id, j.job_type, j.state, j.payload, j.payload_version,
  (select a.data ->> 'replay_job_id' from audit_log a where a.job_id = j.id and a.event = 'job.replayed' limit 1) as replay_job_id

-- name: list_open_letters
-- Open dead letters after a position, the newest first: by their own index.
select * from dead_letters
where state = 'open' and (created_at, id) < (%(at)s, %(last_id)s)
order by created_at desc, id desc limit %(limit)s

-- name: list_dead_letters
-- Dead letters in a state, or in any, of a job type and a code of errors where these are named, between two positions, the newest first.
select * from dead_letters
where (created_at, id) < (%(at)s, %(last_id)s)
  and created_at >= %(reached)s and (%(state)s::text is null or state = %(state)s)
  and (%(job_type)s::text is null or job_type = %(job_type)s) and (%(code)s::text is null or error ->> 'code' = %(code)s)
order by created_at desc, id desc limit %(limit)s

-- name: group_open_letters
-- The newest open dead letters by the code of their error and their job type: of each group how many, of how many orgs, and since when.
-- `reached` is how far back they were looked at, where there are more.
with looked as (
  select error ->> 'code' as error_code, job_type, org_id, created_at, row_number() over (order by created_at desc, id desc) as nth
  from (
    select error, job_type, org_id, created_at, id from dead_letters where state = 'open' order by created_at desc, id desc limit %(most)s + 1
  ) as newest
)
select coalesce(error_code, '') as error_code, job_type, count(*) as letters, count(distinct org_id) as orgs, min(created_at) as first_at,
  max(created_at) as last_at, (select created_at from looked where nth = %(most)s + 1) as reached
from looked where nth <= %(most)s
group by 1, 2 order by letters desc, last_at desc, 1, 2 limit %(limit)s

-- name: look_back_at_dead_letters
-- How far a look at so many of them reaches; no row when that is to the end.
select created_at as reached from dead_letters
where (created_at, id) < (%(at)s, %(last_id)s)
order by created_at desc, id desc offset %(most)s limit 1

-- name: release_ended_jobs
-- Lets other jobs have the keys of jobs that have ended, and returns what those inherit that do them again.
with asked as (
  select j.* from jobs j join unnest(%(job_ids)s::uuid[], %(org_ids)s::uuid[]) as a (id, org_id) on j.id = a.id and j.org_id = a.org_id
  where j.finished_at is not null
),
freed as (
  update idempotency_keys k set expires_at = now()
  from asked j
  where j.guarded and k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id and k.kind <> 'effect'
)
select id as job_id, project_id, priority, parent_id, idempotency_key, guarded,
  (select k.kind from idempotency_keys k where k.org_id = asked.org_id and k.key = idempotency_key and k.job_id = id and k.kind <> 'effect') as space,
  retry_base_s, retry_cap_s, correlation_id, traceparent
from asked

-- name: hand_over_effects
-- A job that does another again is answerable for the effects that this one has begun: they are kept as long as it may rely on them.
-- `hand_over_shared_effects` follows, in a statement of its own: this one may wait for a key that names another job then.
update idempotency_keys k set job_id = t.target
from unnest(%(sources)s::uuid[], %(targets)s::uuid[]) as t (source, target)
where k.job_id = t.source and k.kind = 'effect'
returning k.key

-- name: hand_over_shared_effects
-- As `hand_over_effects`, for the effects whose keys name another job. It sees what was committed while that statement waited.
update effect_jobs e set job_id = t.target
from unnest(%(sources)s::uuid[], %(targets)s::uuid[]) as t (source, target)
where e.job_id = t.source
returning e.key

-- name: copy_steps
-- A replay begins where the dead job stood: no answer is paid for twice, and none is counted twice.
insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents, started_at)
select t.target, s.org_id, s.name, s.result, 0, 0, s.started_at
from unnest(%(sources)s::uuid[], %(targets)s::uuid[]) as t (source, target) join job_steps s on s.job_id = t.source
returning name

-- name: lock_doubtful_effects
-- Holds the effects of jobs of which nobody knows whether they happened; `find_doubtful_effects` follows, and sees what was committed meanwhile.
select from idempotency_keys
where job_id = any (%(job_ids)s::uuid[]) and kind = 'effect' and status = 'unknown'
order by org_id, key
for update

-- name: find_doubtful_effects
-- The effects of jobs of which nobody knows whether they happened.
select k.job_id, k.key
from unnest(%(job_ids)s::uuid[], %(org_ids)s::uuid[]) as a (id, org_id)
join idempotency_keys k on k.job_id = a.id and k.org_id = a.org_id
where k.kind = 'effect' and k.status = 'unknown'
order by k.key

-- name: rule_effect
-- A person found out whether an effect happened: the next attempt gets its result, or may cause it. Of one that a person has ruled to have
-- happened, which still says what was unknown, they may say once more what it gave.
update idempotency_keys set status = %(status)s, result_ref = %(result)s, last_seen_at = now(), request = null,
  expires_at = greatest(expires_at, now() + postroom.keep_effects_for())
where org_id = %(org_id)s and key = %(key)s and kind = 'effect'
  and (status = 'unknown' or (status = 'succeeded' and error_ref is not null and %(status)s = 'succeeded'))
returning key

-- name: lock_jobs_to_retry
-- Jobs that somebody wants to have done again, held until the transaction ends, and the jobs that were made of them before.
select columns(of_retries)
from jobs j
where j.id = any (%(job_ids)s::uuid[]) and (%(org_id)s::uuid is null or j.org_id = %(org_id)s::uuid)
order by j.id
for update of j

-- name: read_jobs_to_retry
-- The same, of whom nobody wants to write.
select columns(of_retries)
from jobs j
where j.id = any (%(job_ids)s::uuid[])
order by j.id

-- name: is_end_awaited
-- Whether anybody would hear that a job was canceled, and do something about it.
select j.result_wanted or t.on_end is not null
  or exists (select from job_waiters w where w.job_id = j.id and w.org_id = j.org_id) as is_awaited
from jobs j left join job_types t on t.name = j.job_type
where j.id = %(job_id)s and j.org_id = %(org_id)s

-- name: close_letters
-- Closes open letters; each that was replayed names its new job.
update dead_letters d set state = %(state)s, resolved_by = %(by)s, resolution = %(why)s, resolved_at = now(), replay_job_id = t.replay
from unnest(%(letter_ids)s::uuid[], %(replays)s::uuid[]) as t (id, replay)
where d.id = t.id and d.state = 'open'
returning d.id

-- name: read_replays
-- What the ledger keeps of jobs that a replay begins with: the effects that they have begun, and their steps.
select a.id as job_id,
  coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'strategy', k.mode, 'status', k.status,
      'known_for_s', extract(epoch from now() - coalesce(k.begun_at, k.first_seen_at))) order by k.first_seen_at, k.key)
    from (
      select k.key, k.mode, k.status, k.begun_at, k.first_seen_at
      from idempotency_keys k where k.job_id = a.id and k.org_id = a.org_id and k.kind = 'effect'
      union
      select k.key, k.mode, k.status, k.begun_at, k.first_seen_at
      from effect_jobs e join idempotency_keys k on k.org_id = e.org_id and k.key = e.key and k.kind = 'effect'
      where e.job_id = a.id and e.org_id = a.org_id
      limit %(most)s
    ) as k), '[]') as effects,
  coalesce((select jsonb_agg(jsonb_build_object('name', s.name, 'cost_microcents', s.cost_microcents) order by s.at, s.name)
    from (select * from job_steps s where s.job_id = a.id and s.org_id = a.org_id limit %(most)s) as s), '[]') as steps,
  coalesce((select j.cost_microcents from jobs j where j.id = a.id and j.org_id = a.org_id), 0) as cost_microcents
from unnest(%(job_ids)s::uuid[], %(org_ids)s::uuid[]) as a (id, org_id)
