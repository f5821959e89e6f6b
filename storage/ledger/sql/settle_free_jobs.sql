-- settle_free_jobs
-- As settle_jobs, without waiting for anybody: a job whose row or guard somebody else has locked is left as it is and named 'locked'. For
-- a batch that had to wait; the locks cost what an update costs, so that settle_jobs does without.
with given as materialized (
  select * from unnest(
    %(job_ids)s::uuid[], %(tokens)s::uuid[], %(states)s::text[], %(run_ats)s::timestamptz[], %(attempt_deltas)s::smallint[],
    %(loss_deltas)s::smallint[], %(started_ats)s::timestamptz[], %(outputs)s::jsonb[], %(errors)s::jsonb[], %(costs)s::bigint[],
    %(reasons)s::text[], %(details)s::jsonb[], %(suspects)s::boolean[], %(return_deltas)s::smallint[])
  as g (id, token, state, run_at, attempt_delta, loss_delta, started_at, output, error, cost, reason, detail, suspect, return_delta)
),
rows_to_write as materialized (
  select j.id, j.org_id, j.idempotency_key, j.guarded from jobs j
  where j.id = any (%(job_ids)s::uuid[]) order by j.id for no key update skip locked
),
guards as materialized (
  select k.job_id from idempotency_keys k join rows_to_write r on k.org_id = r.org_id and k.key = r.idempotency_key and k.kind = 'job' and k.job_id = r.id
  where r.guarded order by k.org_id, k.key for no key update of k skip locked
),
busy as materialized (
  select j.id from jobs j where j.id = any (%(job_ids)s::uuid[]) and not exists (select from rows_to_write r where r.id = j.id)
  union all
  select r.id from rows_to_write r join idempotency_keys k on k.org_id = r.org_id and k.key = r.idempotency_key and k.kind = 'job' and k.job_id = r.id
  where r.guarded and not exists (select from guards g where g.job_id = r.id)
),
settled as (
  select l.what, l.job_id, l.job_type, l.queue, l.light
  from (
    select array_agg(g.id) as ids, array_agg(g.token) as tokens, array_agg(g.state) as states, array_agg(g.run_at) as run_ats,
      array_agg(g.attempt_delta) as attempt_deltas, array_agg(g.loss_delta) as loss_deltas, array_agg(g.started_at) as started_ats,
      array_agg(g.output) as outputs, array_agg(g.error) as errors, array_agg(g.cost) as costs, array_agg(g.reason) as reasons,
      array_agg(g.detail) as details, array_agg(g.suspect) as suspects, array_agg(g.return_delta) as return_deltas
    from given g where g.id not in (select id from busy)
    having count(*) > 0
  ) as a
  cross join lateral postroom.leave_claims(
    a.ids, a.tokens, a.states, a.run_ats, a.attempt_deltas, a.loss_deltas, a.started_ats, a.outputs, a.errors, a.costs, a.reasons,
    a.details, a.suspects, return_deltas => a.return_deltas) as l
)
select what, job_id, job_type, queue, light from settled
union all
select 'locked', id, null, null, false from busy
