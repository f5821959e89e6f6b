-- How many jobs of one kind, ordinary or light, each given org has in the backlog of a queue at one priority, counted up to a bound of
-- its own.
select w.org_id, cardinality(array(
  select id from jobs
  where queue = %(queue)s and priority = %(priority)s and light = %(light)s and org_id = w.org_id and backlog_since is not null
  order by backlog_since, id limit w.most
)) as jobs
-- Parameters in sub-selects, as in claim_jobs.
from unnest((select %(org_ids)s::uuid[]), (select %(mosts)s::int[])) as w (org_id, most)
