-- Writes what becomes of jobs, each named by its id and claim token. What is the same for all jobs is not given: an empty array stands
-- for successes without an output, and for zeros. Returns the jobs whose claims were lost, and those that waited for a concurrency key.
select what, job_id, job_type, queue, light
from postroom.leave_claims(
  %(job_ids)s::uuid[], %(tokens)s::uuid[], %(states)s::text[], %(run_ats)s::timestamptz[], %(attempt_deltas)s::smallint[],
  %(loss_deltas)s::smallint[], %(started_ats)s::timestamptz[], %(outputs)s::jsonb[], %(errors)s::jsonb[], %(costs)s::bigint[],
  %(reasons)s::text[], %(details)s::jsonb[], %(suspects)s::boolean[], return_deltas => %(return_deltas)s::smallint[])
