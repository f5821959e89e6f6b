-- name: list_unknown_effects
-- Effects of which nobody knows whether they happened, between two positions, the newest doubt first. Many may be unknown since one moment:
-- a statement leaves a thousand to a person at once. A tiebreak that stays orders them.
select k.org_id, k.key, k.mode as strategy, coalesce(j.job_type, l.job_type) as job_type, k.job_id, k.unknown_since as since,
  k.error_ref ->> 'reason' as reason, k.first_seen_at as asked_at, j.state as job_state, l.id as letter_id, k.tiebreak
from (
  select org_id, key, mode, job_id, unknown_since, error_ref, first_seen_at, md5(org_id::text || key)::uuid as tiebreak from idempotency_keys
  where kind = 'effect' and unknown_since <= %(at)s and unknown_since >= %(reached)s
    and (unknown_since < %(at)s or md5(org_id::text || key)::uuid < %(tiebreak)s) and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  order by unknown_since desc, tiebreak desc limit %(limit)s
) as k
left join jobs j on j.id = k.job_id
left join dead_letters l on l.job_id = k.job_id and l.org_id = k.org_id
order by k.unknown_since desc, k.tiebreak desc

-- name: look_back_at_unknown_effects
-- How far a look at so many of them reaches, of all orgs; no row when that is to the end.
select unknown_since as reached from idempotency_keys where unknown_since <= %(at)s
order by unknown_since desc offset %(most)s limit 1
