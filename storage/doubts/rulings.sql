-- name: list_unknown_effects
-- Effects of which nobody knows whether they happened, the newest job's first. Reads the index of all effects.
select k.org_id, k.key, k.mode as strategy, coalesce(j.job_type, l.job_type) as job_type, k.job_id, k.last_seen_at as since,
  k.error_ref ->> 'reason' as reason
from idempotency_keys k
left join jobs j on j.id = k.job_id
left join dead_letters l on l.job_id = k.job_id and l.org_id = k.org_id
where k.kind = 'effect' and k.status = 'unknown' and (%(org_id)s::uuid is null or k.org_id = %(org_id)s::uuid)
order by k.job_id desc, k.key limit %(limit)s
