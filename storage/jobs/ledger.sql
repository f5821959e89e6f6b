-- name: enqueue_job
-- One job, or no new one when its key is taken: postroom.enqueue_job answers with the job that has it.
select e.job_id, e.job_type, e.queue, e.created, e.publish
from postroom.enqueue_job(%(job_type)s, %(org_id)s, %(payload)s, %(payload_version)s, %(checked)s, %(job_id)s, %(project_id)s,
  %(idempotency_key)s, %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(traceparent)s, %(parent_id)s, %(replay_of)s,
  %(priority)s, %(run_at)s, %(expires_at)s, %(max_attempts)s, %(created_at)s, %(publisher)s, %(hint_timeout)s,
  %(retry_base_s)s, %(retry_cap_s)s, %(folds)s, %(keys_of)s) as e

-- name: enqueue_jobs
-- Any number of jobs, in the given order.
select job_id, job_type, queue, created, publish
from postroom.enqueue_jobs(%(requests)s::jsonb, %(publisher)s, %(hint_timeout)s::interval, %(burst)s) order by place

-- name: claim_jobs
-- Takes the jobs that a process has received hints for, and for each backlog key as many of the oldest jobs as it was
-- asked to claim there. Of several processes with one hint, one gets the job. A job that is not due stays queued until
-- then; one that is gated, or whose concurrency key is full, is parked by it and called when it opens. One whose guard
-- somebody has locked is put off: whoever enqueues under a key holds the guard until its commit, and nobody waits for a
-- tenant here. A suspect is put off unless the process is `alone` with it: then it is the one job that is asked for,
-- and begins with its claim. All others begin in their turn (start_jobs). An expired or canceled one is only named:
-- end_unclaimed ends it, because its end-of-job hook may write rows that this statement updates. Returns a row per job
-- that was found queued: its answer and, if claimed, all the runner needs. And a row for each backlog that was not
-- empty: its number in the arrays, and `backlog_since` of the newest job claimed there; the next claim may take that
-- for its cursor and need not pass the entries before it, which stay in the index until a vacuum.
with from_backlog as materialized (
  -- In sub-selects, for the planner must not see the parameters: with an empty array it would plan each claim anew.
  select t.number, d.plain, d.others, d.since
  from unnest((select %(queues)s::text[]), (select %(priorities)s::int[]),
    (select %(org_ids)s::uuid[]), (select %(counts)s::int[]), (select %(cursors)s::timestamptz[]))
    with ordinality as t (queue, priority, org_id, count, cursor, number)
  cross join (select not exists (select from closed_gates) as open) as all_gates
  -- Through arrays: the planner takes a limit that it does not know for a tenth of the table, and would read all of it.
  cross join lateral (
    select array_agg(tid) filter (where plain) as plain, array_agg(id) filter (where not plain) as others, max(backlog_since) as since
    from (
      select ctid as tid, id, backlog_since,
        all_gates.open and serial_key is null and cancel_requested_at is null and expires_at is null and not (guarded or suspect) as plain
      from jobs
      where queue = t.queue and priority = t.priority and org_id = t.org_id and backlog_since is not null
        and backlog_since >= coalesce(t.cursor, '-infinity')
      order by backlog_since, id limit t.count for update of jobs skip locked
    ) as oldest
  ) as d
),
-- A job that was hinted at twice asks for one slot of its key.
wanted as materialized (
  select unnest((select %(job_ids)s::uuid[])) as id
  union
  select unnest(others) from from_backlog
),
asked as (
  select j.id, j.org_id, j.job_type, j.queue, j.payload, j.serial_key, j.priority, j.run_at, j.expires_at, j.cancel_requested_at,
    j.guarded, j.idempotency_key, j.suspect
  -- Through an array: the planner takes a group for two hundred jobs, and would read a table of thousands to join one.
  from jobs j
  where j.id = any (array(select id from wanted)) and j.state = 'queued'
  order by j.id
  for update of j skip locked
),
-- Each guard by its key, in a sub-select with a limit: as a join, or as `exists`, the planner would hash all keys for every claim.
free_guards as materialized (
  select a.id as job_id from asked a
  cross join lateral (
    select from idempotency_keys k where k.org_id = a.org_id and k.key = a.idempotency_key and k.kind <> 'effect' and k.job_id = a.id
    limit 1 for no key update of k skip locked
  ) as guard
  where a.guarded
),
checked as (
  select a.id, a.serial_key, a.priority, a.run_at, g.gate,
    case
      when a.cancel_requested_at is not null then 'canceled'
      when a.expires_at <= now() then 'expired'
      when a.run_at > now() then 'early'  -- every time is the database's, so there is no drift to forgive
      when g.gate is not null then 'gated'
      when a.guarded and not exists (select from free_guards f where f.job_id = a.id) and (
        select true from idempotency_keys k where k.org_id = a.org_id and k.key = a.idempotency_key and k.kind <> 'effect' and k.job_id = a.id
        limit 1)
      then 'locked'
      when a.suspect and not %(alone)s then 'suspect'
      else 'claimed'
    end as answer
  from asked a
  cross join lateral (
    select case when exists (select from closed_gates)
      then postroom.gate_of(a.org_id, a.job_type, a.queue, a.payload ->> 'account_id') end as gate
  ) as g
),
slots as (
  select t.of_job, t.is_taken from (
    select array_agg(serial_key order by serial_key, priority desc, run_at, id) as keys,
      array_agg(id order by serial_key, priority desc, run_at, id) as ids
    from checked where answer = 'claimed' and serial_key is not null
    having count(*) > 0
  ) as w
  cross join lateral postroom.take_slots(w.keys, w.ids) as t
),
final as (
  select d.id, d.serial_key, d.run_at, d.gate,
    case when d.answer <> 'claimed' or d.serial_key is null or s.is_taken then d.answer when s.of_job is null then 'serial' else 'freeing' end
      as answer
  from checked d left join slots s on s.of_job = d.id
),
claimed as (
  update jobs j set
    state = case when j.suspect then 'running' else 'claimed' end,
    attempt = j.attempt + j.suspect::int,
    claim_token = %(token)s, worker_id = %(worker_id)s, claimed_at = now(),
    started_at = case when j.suspect then now() end,
    backlog_since = null, parked_by = null,
    -- A suspect begins alone: the way back that brought it here, as when it was put off a moment ago, is not held against it.
    free_returns = greatest(j.free_returns - j.suspect::int, 0),
    -- Left as it is where it can be: then no index changes, and the update stays heap-only. The rescue looks sooner, no more.
    next_check_at = case
      when j.next_check_at between now() and now() + least(%(lease)s::interval, j.deadline) then j.next_check_at
      else now() + least(%(lease)s::interval, j.deadline) end
  from final f
  where j.id = f.id and f.answer = 'claimed'
  returning j.id, j.org_id, j.project_id, j.job_type, j.queue, j.state, j.payload, j.payload_version, j.attempt, j.max_attempts, j.losses,
    j.suspect, j.deadline, j.created_at, j.actor_type, j.actor_id, j.request_id, j.correlation_id, j.traceparent, j.worker_id,
    j.claimed_at, j.guarded, j.idempotency_key, j.free_returns, j.retry_base_s, j.retry_cap_s
),
-- Jobs of a backlog that nothing can refuse are updated where they were locked. A job that somebody moved between this
-- statement's snapshot and its lock is not found there, and stays in the backlog.
taken as (
  update jobs j set
    state = 'claimed', claim_token = %(token)s, worker_id = %(worker_id)s, claimed_at = now(),
    backlog_since = null, next_check_at = now() + least(%(lease)s::interval, j.deadline)
  where j.ctid = any (array(select unnest(plain) from from_backlog))
  returning j.id, j.job_type, j.queue, j.org_id, j.project_id, j.payload, j.payload_version, j.attempt + 1, j.max_attempts,
    j.losses, j.deadline, j.created_at, false, j.suspect, j.free_returns, j.retry_base_s, j.retry_cap_s, j.actor_type, j.actor_id,
    j.request_id, j.correlation_id, j.traceparent
),
kept as (
  update jobs j set
    published_at = null, backlog_since = case f.answer when 'freeing' then f.run_at end,
    next_check_at = case f.answer when 'early' then j.run_at when 'locked' then now() + interval '1 second'
      when 'suspect' then now() + %(suspects_rest)s::interval end,
    parked_by = case f.answer when 'gated' then f.gate when 'serial' then 'key:' || f.serial_key end,
    -- Where jobs are long, no process is ever alone: after so many ways back it runs beside others.
    suspect = j.suspect and (f.answer <> 'suspect' or j.free_returns < %(most_suspect)s),
    free_returns = j.free_returns + (f.answer = 'suspect')::int
  from final f
  where j.id = f.id and f.answer in ('early', 'gated', 'serial', 'freeing', 'locked', 'suspect')
  -- One that comes back from the backlog does not wake the relay again: nobody knows how long the slot's holder takes to commit.
  returning case when f.answer = 'freeing' and old.backlog_since is null then pg_notify('postroom_due', '') end
),
guards as (
  update idempotency_keys k set status = 'running'
  from claimed c where c.guarded and k.org_id = c.org_id and k.key = c.idempotency_key and k.kind <> 'effect' and k.job_id = c.id
),
audited as (
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    worker_id, claimed_at)
  select 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt, worker_id, claimed_at
  -- The claim of a job that does not begin yet is audited when it begins or goes back, with the time of this claim.
  from claimed where state = 'running'
),
granted as (
  select id as job_id, job_type, queue, org_id, project_id, payload, payload_version, attempt + (state = 'claimed')::int as attempt,
    max_attempts, losses, deadline, created_at, state = 'running' as started, suspect, free_returns as returns, retry_base_s, retry_cap_s,
    actor_type, actor_id, request_id, correlation_id, traceparent
  from claimed
  union all
  select * from taken
),
others as (
  select f.answer, f.id as refused_id, null::int as backlog, null::timestamptz as since,
    -- A job that could have had a slot of its key and does not take it: another one may.
    case when f.serial_key is not null and f.answer not in ('claimed', 'serial', 'freeing', 'canceled', 'expired')
      then postroom.call_waiters(array[f.serial_key], %(job_ids)s::uuid[]) end as called
  from final f where f.answer <> 'claimed'
  union all
  select 'cursor', null, number::int, since, null from from_backlog where since is not null
)
-- A row of either kind, and NULL in the columns of the other.
select coalesce(o.answer, 'claimed') as answer, o.refused_id, o.backlog, o.since, g.*, o.called
from granted g full join others o on false
-- The commit does not wait for the disk (docs: ledger-loop.md#commits-that-do-not-wait-for-the-disk).
where (select set_config('synchronous_commit', 'off', true)) is not null

-- name: end_unclaimed
-- Ends the queued jobs of these that are canceled or expired. A statement of its own, after the claim that found them:
-- their hooks may write any row, and a statement must not update a row that a function called by it has changed. One
-- whose guard somebody has locked is put off; whoever has locked a job is ending or claiming it.
with over as materialized (
  select id, case when cancel_requested_at is null then 'expired' else coalesce(cancel_reason, 'canceled') end as reason
  from jobs
  where id = any (%(job_ids)s::uuid[]) and state = 'queued' and (cancel_requested_at is not null or expires_at <= now())
  order by id for update skip locked
),
free as materialized (
  select o.* from over o join postroom.lock_free(array(select id from over)) as f (id) using (id)
),
put_off as (
  update jobs set next_check_at = now() + interval '1 second', published_at = null, backlog_since = null, parked_by = null
  where id = any (array(select id from over except select id from free))
)
select l.what from (
  select array_agg(id) as ids, array_agg(reason) as reasons, array_agg(jsonb_build_object('reason', reason)) as details, count(*)::int as jobs
  from free having count(*) > 0
) as q
cross join lateral postroom.leave_claims(q.ids, '{}', states => array_fill('canceled'::text, array[q.jobs]), reasons => q.reasons,
  details => q.details) as l

-- name: settle_jobs
-- Writes what becomes of jobs, each named by its id and claim token. What is the same for all jobs is not given: an empty array stands
-- for successes without an output, for zeros, and for no children. Returns the jobs whose claims were lost, and of those to be published
-- the ones that waited for a concurrency key and the children. The children of a job whose claim was lost are not enqueued. Of all these, the
-- ones that are claimed for the worker at once ('born', postroom.claim_fresh) come once more, with all the runner needs.
with parents as materialized (
  select id, token, children from unnest((select %(job_ids)s::uuid[]), (select %(tokens)s::uuid[]), (select %(children)s::jsonb[]))
    as p (id, token, children)
  where children is not null
),
held as materialized (
  select id, claim_token from jobs where id = any (array(select id from parents)) order by id for no key update
),
born as materialized (
  select jsonb_agg(c.body) as requests from parents p join held h on h.id = p.id and h.claim_token = p.token
  cross join jsonb_array_elements(p.children) as c (body)
),
children as materialized (
  select e.* from born b
  cross join lateral postroom.enqueue_jobs(b.requests, true, %(hint_timeout)s::interval, %(burst)s) as e
  where b.requests is not null
),
left_claims as materialized (
  select * from postroom.leave_claims(
    %(job_ids)s::uuid[], %(tokens)s::uuid[], %(states)s::text[], %(run_ats)s::timestamptz[], %(attempt_deltas)s::smallint[],
    %(loss_deltas)s::smallint[], %(started_ats)s::timestamptz[], %(outputs)s::jsonb[], %(errors)s::jsonb[], %(costs)s::bigint[],
    %(reasons)s::text[], %(details)s::jsonb[], %(suspects)s::boolean[],
    return_deltas => %(return_deltas)s::smallint[], gates => %(gates)s::jsonb[])
),
claimed as materialized (
  select c from (
    select array_agg(job_id) as ids
    from (select job_id from children where publish union all select job_id from left_claims where what = 'woken') as put_in_place
  ) as p
  cross join lateral postroom.claim_fresh(%(born_by)s, null, p.ids, %(born_token)s, %(born_queues)s::text[], %(born_most)s, %(born_lease)s) as c
  -- In a sub-select, for the planner must not see whether there are slots: it would plan each settlement anew.
  where (select %(born_most)s::int) > 0 and p.ids is not null
)
-- First, for a claim that has been left cannot be found held any more.
select 'child' as what, job_id as settled_id, job_type as settled_type, queue as settled_queue, (null::postroom.claimed_job).* from children where publish
union all
select what, job_id, job_type, queue, (null::postroom.claimed_job).* from left_claims
union all
select 'born', (c).job_id, (c).job_type, (c).queue, (c).* from claimed

-- name: settle_held
-- Makes a held job succeeded in the transaction of its handler. Returns the jobs that waited for its concurrency key, and of `fresh` and these
-- the ones that are claimed at once, as settle_jobs does.
select what, job_id as settled_id, job_type as settled_type, queue as settled_queue, (born).*
from postroom.settle_held(%(job_id)s, %(token)s, %(output)s, %(cost)s, %(began_at)s,
  %(fresh)s, %(born_token)s, %(born_queues)s::text[], %(born_most)s, %(born_lease)s)

-- name: claim_children
-- Claims some of the jobs that a handler's transaction has enqueued, for the worker of the handler's own job.
select 'born' as what, c.job_id as settled_id, c.job_type as settled_type, c.queue as settled_queue, c.*
from postroom.claim_children(%(job_id)s, %(token)s, %(fresh)s, %(born_token)s, %(born_queues)s::text[], %(born_most)s, %(born_lease)s) as c

-- name: look_at_claim
-- Why a held job should stop, or NULL; an error when the claim is lost.
select postroom.look_at_claim(%(job_id)s, %(token)s) as reason

-- name: lock_free_jobs
-- Locks those of these jobs and guards that nobody else has locked, until the transaction ends, and returns the jobs. For a
-- batch of settlements that had to wait; the locks cost what an update costs, so that other batches do without.
select id from postroom.lock_free(%(job_ids)s::uuid[]) as f (id)

-- name: start_jobs
-- Writes when claimed jobs began. One that has ended meanwhile, lost its claim, or is locked by a transaction of its own
-- handler is passed over: nobody may wait here for a handler.
select id from postroom.start_jobs(%(job_ids)s::uuid[], %(tokens)s::uuid[], %(started_ats)s::timestamptz[]) as s (id)
where (select set_config('synchronous_commit', 'off', true)) is not null

-- name: renew_lease
-- Registers a process that runs jobs, or renews its lease; one row, however many jobs it holds. Returns the time, which the process
-- goes by until the next renewal.
insert into workers (id, node_id, hostname, pid, version, queues, slots, own_job_types, lease_until)
values (%(worker_id)s, %(node_id)s, %(hostname)s, %(pid)s, %(version)s, %(queues)s, %(slots)s, %(own_job_types)s, now() + %(lease)s::interval)
on conflict (id) do update set lease_until = excluded.lease_until
returning clock_timestamp() as at

-- name: cancel_jobs
-- Asks for jobs to be canceled. A queued job is canceled at once; a held one sees the request at its next step, effect or model call.
-- Returns the new state of each job that had not ended.
with asked as (
  select id from jobs where id = any (%(job_ids)s::uuid[]) and finished_at is null
    and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  order by id for update
),
requested as (
  update jobs j set
    cancel_requested_at = coalesce(j.cancel_requested_at, now()), cancel_reason = coalesce(j.cancel_reason, %(reason)s)
  from asked a where j.id = a.id and j.finished_at is null
  returning j.*
),
ended as materialized (
  select l.what from (
    select array_agg(id) as ids, array_agg(cancel_reason) as reasons, count(*)::int as jobs
    from requested where state = 'queued' having count(*) > 0
  ) as q
  cross join lateral postroom.leave_claims(q.ids, '{}',
    states => array_fill('canceled'::text, array[q.jobs]), reasons => q.reasons,
    details => array_fill(%(details)s::jsonb, array[q.jobs]),
    by_actor_type => %(actor_type)s, by_actor_id => %(actor_id)s, besides => %(job_ids)s::uuid[]) as l
),
audited as (
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  select 'job.cancel_requested', org_id, project_id, %(actor_type)s, %(actor_id)s, request_id, correlation_id, id, job_type, attempt, %(details)s::jsonb
  from requested where state <> 'queued'
)
select id, case state when 'queued' then 'canceled' else state end as state
from requested cross join (select count(*) from ended) as all_ended
