-- What an org has spent on the model since a time, in microcents.
select coalesce(sum(cost_microcents), 0)::bigint as cost_microcents, count(*) as calls
from llm_calls
where org_id = %(org_id)s and at >= %(since)s
