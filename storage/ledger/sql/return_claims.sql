-- Gives claims back: all of a node that stops, or those of tokens whose claims nobody heard the answer of. No attempt is spent and no
-- loss is counted. Returns the jobs that went back, and those that waited for a concurrency key.
with held as materialized (
  select id, claim_token, suspect from jobs
  where (worker_id = any (select id from workers where node_id = %(node_id)s::uuid) or claim_token = any (%(tokens)s::uuid[]))
    and next_check_at <= now() + %(lease)s::interval + interval '2 seconds'
    and state in ('claimed', 'running')
  order by id for update
),
left_claims as materialized (
  select l.* from (select array_agg(id) as ids, array_agg(claim_token) as tokens, array_agg(suspect) as suspects, count(*)::int as jobs from held having count(*) > 0) as h
  cross join lateral postroom.leave_claims(h.ids, h.tokens,
    states => array_fill('queued'::text, array[h.jobs]), attempt_deltas => array_fill(-1::smallint, array[h.jobs]),
    details => array_fill(jsonb_build_object('cause', %(cause)s::text), array[h.jobs]), suspects => h.suspects) as l
),
gone as (delete from workers where node_id = %(node_id)s::uuid)
select 'returned' as what, id, null as job_type, null as queue, false as light from held
union all
select what, job_id as id, job_type, queue, light from left_claims
