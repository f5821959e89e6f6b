-- columns: matched_by_filter
(%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  and (%(job_types)s::text[] is null or job_type = any (%(job_types)s::text[]))
  and (%(queue)s::text is null or queue = %(queue)s::text)
  and (%(error_code)s::text is null or error ->> 'code' = %(error_code)s::text)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at < coalesce(%(until)s::timestamptz, 'infinity')
  and (%(payload)s::jsonb is null or not exists (
    select from jsonb_to_recordset(%(payload)s) as f (path text[], value text) where payload #>> f.path is distinct from f.value))

-- columns: looked_at
id, org_id, job_type, queue, state, error, cancel_reason, payload, created_at, claimed_at, finished_at

-- columns: troubled_of_org
org_id = %(org_id)s::uuid and (error is not null or cancel_reason is not null)
  and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at <= %(frozen_at)s and (created_at, id) > (coalesce((select j.created_at from jobs j where j.id = %(passed_id)s), '-infinity'), %(passed_id)s::uuid)

-- columns: matched_jobs
from (
  (select columns(looked_at) from jobs where %(source)s = 'ids' and id > %(after_id)s and id < %(upto)s order by id limit %(most)s)
  union all
  -- Clients choose ids at random: a few lie before the ids of that time.
  (select columns(looked_at) from jobs
   where %(source)s = 'ids' and %(passed_id)s::uuid < %(since_id)s::uuid and foreign_at >= %(since)s::timestamptz - interval '1 minute'
     and id > %(passed_id)s and id <= %(since_id)s)
  union all
  -- Their last time first, of the index alone: otherwise the planner may read and sort all of the org's.
  (select columns(looked_at) from jobs
   where %(source)s = 'of_org' and columns(troubled_of_org) and created_at <= coalesce(
     (select created_at from jobs where columns(troubled_of_org) order by created_at, id offset %(most)s - 1 limit 1), 'infinity')
   order by created_at, id limit %(most)s)
  union all
  -- Those that have not ended, where they are few: in the orders of their indexes, so that no plan reads all jobs.
  (select columns(looked_at) from jobs where %(source)s = 'unfinished' and next_check_at is not null order by next_check_at limit %(most)s)
  union all
  (select columns(looked_at) from jobs
   where %(source)s = 'unfinished' and backlog_since is not null order by queue, priority desc, org_id, backlog_since, id limit %(most)s)
  union all
  (select columns(looked_at) from jobs
   where %(source)s = 'unfinished' and parked_by is not null order by parked_by, priority desc, run_at, id limit %(most)s)
  union all
  (select columns(looked_at) from jobs where id = any (%(job_ids)s::uuid[]))
) as looked
where (%(source)s = 'of_org' or id > %(passed_id)s)
  -- What came later, or came into its state later, is not meant. A queued job that is claimed meanwhile is.
  and greatest(created_at, finished_at, case when 'queued' <> all (%(states)s::text[]) then claimed_at end) <= %(frozen_at)s
  and state = any (%(states)s::text[]) and job_type <> 'bulk_actions.run' and columns(matched_by_filter)

-- columns: looked_at_letter
id, job_id, org_id, job_type, queue, state, error, reason, payload, created_at

-- columns: letters_of_org
org_id = %(org_id)s::uuid and created_at >= coalesce(%(since)s::timestamptz, '-infinity') and created_at <= %(frozen_at)s and (created_at, id) > (
  -- One that was opened anew since then has another time: those before it are met again.
  coalesce((select l.created_at from dead_letters l where l.id = %(passed_id)s and l.created_at <= %(frozen_at)s), '-infinity'), %(passed_id)s::uuid)

-- columns: matched_letters
from (
  (select columns(looked_at_letter) from dead_letters
   where %(source)s = 'ids' and id > %(after_id)s and id < %(upto)s order by id limit %(most)s)
  union all
  (select columns(looked_at_letter) from dead_letters
   where %(source)s = 'of_org' and columns(letters_of_org) order by created_at, id limit %(most)s)
  union all
  -- Each by its job: for several at once the planner may read all open letters, by the order of their ids.
  (select l.* from unnest(%(job_ids)s::uuid[]) as named (job_id) cross join lateral (
     select columns(looked_at_letter) from dead_letters d where d.job_id = named.job_id offset 0
   ) as l
   where l.id > %(passed_id)s)
) as looked
where created_at <= %(frozen_at)s and state = 'open' and 'dead' = any (%(states)s::text[]) and columns(matched_by_filter)

-- name: list_jobs
-- Jobs between two positions, the newest first; by their ids only in the spans of `from_ids` and `to_ids`. `source` says by which index they are found: by their ids (newest), or of an org those
-- that failed, died or were canceled (troubled), or those that have not ended (unfinished), or of these the claimed and running
-- (held), or that are in `job_ids` (named).
select id as job_id, job_type, queue, state, org_id, priority, attempt, max_attempts, created_at, run_at, started_at, finished_at,
  left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason, at
from (
  (select l.*, uuid_extract_timestamp(l.id) as at
   from unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[]) as zone (from_id, to_id) cross join lateral (
     select * from job_lines
     where %(source)s = 'newest' and foreign_at is null and id >= greatest(%(upto_id)s, zone.from_id) and id < least(%(before_id)s, zone.to_id)
     order by id desc
   ) as l)
  union all
  (select *, foreign_at as at from job_lines
   where %(source)s = 'newest' and foreign_at >= %(upto)s
     and (foreign_at, id) < (%(before)s, %(last_id)s))
  union all
  (select *, created_at as at from job_lines
   where %(source)s = 'troubled' and (error is not null or cancel_reason is not null)
     and created_at >= %(upto)s and (created_at, id) < (%(before)s, %(last_id)s))
  union all
  (select *, coalesce(foreign_at, uuid_extract_timestamp(id)) as at from job_lines
   where %(source)s in ('unfinished', 'held')
     and next_check_at < case when %(source)s = 'held' then now() + interval '1 hour' else 'infinity' end)
  union all
  (select *, coalesce(foreign_at, uuid_extract_timestamp(id)) as at from job_lines
   where %(source)s = 'unfinished' and (backlog_since is not null or parked_by is not null))
  union all
  (select *, coalesce(foreign_at, uuid_extract_timestamp(id)) as at from job_lines
   where %(source)s = 'named' and id = any (%(job_ids)s::uuid[]))
) as found
where (%(states)s::text[] is null or state = any (%(states)s::text[])) and columns(matched_by_filter)
  and (%(trace_id)s::text is null or split_part(traceparent, '-', 2) = %(trace_id)s::text)
  and (at, id) < (%(before)s, %(last_id)s)
order by at desc, id desc
limit %(limit)s

-- name: match_jobs
-- Jobs that a filter matches. `source` says where they are looked for: among so many from one id up to another (ids), among so many of an
-- org's that failed, died or were canceled, by their times (of_org), among all that have not ended (unfinished), or among those that the
-- filter names (named). Those that carry bulk actions out are never meant.
select id as subject_id, id as job_id, org_id as job_org_id, org_id, job_type, state, left(coalesce(error ->> 'reason', cancel_reason), 1000) as reason
columns(matched_jobs)
order by case when %(source)s = 'of_org' then created_at end, id limit %(limit)s

-- name: count_jobs
-- How many jobs `match_jobs` would find.
select count(*) as matched columns(matched_jobs)

-- name: reach_of_jobs
-- The last of so many jobs that `match_jobs` looks at; no row where there are fewer.
(select id as reached from jobs where %(source)s = 'ids' and id > %(after_id)s and id < %(upto)s order by id offset %(most)s - 1 limit 1)
union all
(select id from jobs where %(source)s = 'of_org' and columns(troubled_of_org) order by created_at, id offset %(most)s - 1 limit 1)

-- name: match_letters
-- Open dead letters, as `match_jobs` finds jobs.
select id as subject_id, job_id, org_id as job_org_id, org_id, job_type, 'dead' as state, left(reason, 1000) as reason
columns(matched_letters)
order by case when %(source)s = 'of_org' then created_at end, id limit %(limit)s

-- name: count_letters
-- How many letters `match_letters` would find.
select count(*) as matched columns(matched_letters)

-- name: reach_of_letters
-- The last of so many letters that `match_letters` looks at; no row where there are fewer.
(select id as reached from dead_letters where %(source)s = 'ids' and id > %(after_id)s and id < %(upto)s order by id offset %(most)s - 1 limit 1)
union all
(select id from dead_letters where %(source)s = 'of_org' and columns(letters_of_org) order by created_at, id offset %(most)s - 1 limit 1)

-- name: look_back_at_jobs
-- How far a look at so many jobs of all orgs reaches; NULL: to the end.
select postroom.look_back_at_jobs(%(before_id)s, %(before)s, %(last_id)s, %(most)s, %(from_ids)s, %(to_ids)s) as reached

-- name: look_back_at_troubled_jobs
-- The same for the jobs of the tenant's org that failed, died or were canceled.
select created_at as reached from jobs
where (error is not null or cancel_reason is not null) and (created_at, id) < (%(before)s, %(last_id)s)
order by created_at desc, id desc offset %(most)s limit 1

-- name: are_few_unfinished
-- Whether the jobs that have not ended are so few that a list may read them all.
select postroom.are_few_unfinished(%(source)s = 'held', %(most)s) as are_few

-- name: read_job
-- One job as its org may see it. What is larger than the answer may carry is left out and named.
select id as job_id, job_type, queue, state, priority, payload_version, attempt, max_attempts, project_id, parent_id, replay_of,
  actor_type, actor_id, request_id, correlation_id, created_at, run_at, expires_at, started_at, finished_at,
  cancel_requested_at, cancel_reason,
  case when length(payload::text) <= %(longest)s then payload end as payload,
  case when length(progress::text) <= %(longest)s then progress end as progress,
  case when length(output::text) <= %(longest)s then output end as output,
  case when length(error::text) <= %(longest)s then error end as error,
  array_remove(array[
    case when length(payload::text) > %(longest)s then 'payload' end,
    case when length(progress::text) > %(longest)s then 'progress' end,
    case when length(output::text) > %(longest)s then 'output' end,
    case when length(error::text) > %(longest)s then 'error' end], null) as left_out
from jobs where id = %(job_id)s

-- name: show_job
-- What is known of one job, in one look: the newest of its events, and the first of what else may be many, `shown` of each. Its claim token
-- stays here: whoever has it could write as the holder.
with asked as (select %(job_id)s::uuid as id),
events as (
  select *, row_number() over (order by id desc) as nth
  from (select * from audit_log where job_id = (select id from asked) limit %(most_events)s) as newest
),
steps as (select *, row_number() over (order by at, name) as nth from job_steps where job_id = (select id from asked)),
effects as (
  select *, row_number() over (order by first_seen_at, key) as nth
  from idempotency_keys where job_id = (select id from asked) and kind = 'effect'
),
children as (
  select id, job_type, state, row_number() over (order by id) as nth
  from (select id, job_type, state from jobs where parent_id = (select id from asked) order by id limit %(most_children)s) as first
)
select
  to_jsonb(j) - '{claim_token,foreign_at}'::text[] || jsonb_build_object('updated_at', postroom.updated_at(j.id)) as job,
  coalesce((select jsonb_agg(jsonb_build_object('at', a.at, 'event', a.event, 'attempt', a.attempt, 'actor_id', a.actor_id,
      'data',
      coalesce(a.data, '{}') || jsonb_strip_nulls(jsonb_build_object(
        'worker', a.worker_id, 'claimed_at', a.claimed_at, 'parent_id', a.parent_id, 'replay_of', a.replay_of))) order by a.id)
    from events a where nth <= %(shown)s), '[]') as events,
  coalesce((select jsonb_agg(jsonb_build_object('name', s.name, 'attempt', s.attempt, 'started_at', s.started_at, 'at', s.at, 'cost_microcents', s.cost_microcents,
      'result', s.result) order by nth)
    from steps s where nth <= %(shown)s), '[]') as steps,
  coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'strategy', k.mode, 'status', k.status, 'first_seen_at', k.first_seen_at,
      'last_seen_at', k.last_seen_at, 'result', k.result_ref, 'error', k.error_ref) order by nth)
    from effects k where nth <= %(shown)s), '[]') as effects,
  coalesce((select jsonb_agg(jsonb_build_object('job_id', c.id, 'job_type', c.job_type, 'state', c.state) order by nth)
    from children c where nth <= %(shown)s), '[]') as children,
  coalesce((select jsonb_object_agg(state, jobs) from (select state, count(*) as jobs from children group by state) as counted), '{}')
    as children_by_state,
  (select to_jsonb(d) - '{payload,history}'::text[] from dead_letters d where d.job_id = asked.id) as dead_letter,
  array_remove(array[
    case when exists (select from events where nth > %(shown)s) then 'events' end,
    case when exists (select from steps where nth > %(shown)s) then 'steps' end,
    case when exists (select from effects where nth > %(shown)s) then 'effects' end,
    case when exists (select from children where nth > %(shown)s) then 'children' end], null) as more
from asked
left join jobs j on j.id = asked.id

-- name: why_of_job
-- What decides why a job is where it is, as its org or, for the ledger, an operator may know it; NULL where there is no such job.
select postroom.why_of_job(%(job_id)s) as facts

-- name: list_children
-- The jobs that a job has enqueued, by their ids, after one of them.
select id as job_id, job_type, state from jobs
where parent_id = %(parent_id)s and id > coalesce(%(after_job_id)s::uuid, '00000000-0000-0000-0000-000000000000')
order by id limit %(limit)s

-- name: list_refused_messages
-- Messages that could not become jobs, the newest first, before one of them.
select id, at, task, task_id, field, reason from refused_messages where id < coalesce(%(after_id)s::bigint, 9223372036854775807) order by id desc limit %(limit)s

-- name: list_descendants
-- The unfinished descendants of jobs, by their distance: parents before their children. It begins with jobs that are unfinished or canceled:
-- one that ended otherwise has handed its children over. Below that it goes through jobs that have ended. Those that know of a
-- cancellation already are left out. A job of another org is a child only if its parent is the system org's, whose jobs fan out.
with recursive family as (
  select j.id, j.org_id, 0 as level from jobs j
  where j.id = any (%(job_ids)s::uuid[]) and (j.finished_at is null or j.state = 'canceled')
    and (%(org_id)s::uuid is null or j.org_id = %(org_id)s::uuid)
  union
  select c.id, c.org_id, f.level + 1 from family f
  join jobs c on c.parent_id = f.id and (c.org_id = f.org_id or f.org_id = %(system_org)s)
  where f.level < %(levels)s
)
select f.id, f.org_id from family f join jobs j on j.id = f.id
where f.level > 0 and j.finished_at is null and (j.state = 'queued' or j.cancel_requested_at is null)
order by f.level, f.id limit %(most)s

-- name: list_workers
-- Processes that run jobs, those with the longest lease first. What each holds is counted among the held jobs that are checked next.
with held as materialized (
  select worker_id from (
    select worker_id, state from jobs where next_check_at < now() + interval '1 hour' order by next_check_at limit 10000
  ) as c
  where c.state in ('claimed', 'running')
)
select w.id as worker_id, case when w.lease_until > now() then 'active' else 'gone' end as state, w.hostname, w.pid, w.node_id, w.started_at,
  w.lease_until, w.version, w.queues, w.slots, w.own_job_types, (select count(*) from held h where h.worker_id = w.id) as held
from workers w
where (w.lease_until, w.id) < (coalesce(%(after_lease_until)s::timestamptz, 'infinity'),
  coalesce(%(after_worker_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by w.lease_until desc, w.id desc limit %(limit)s

-- name: list_living_workers
-- How many workers of each release live that serve the same queues, and since when the first of them runs.
select version, queues, count(*) as workers, min(started_at) as since from workers where lease_until > now()
group by version, queues order by version, queues
