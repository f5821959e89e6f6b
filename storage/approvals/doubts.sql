-- name: list_doubts
-- The next effects, by job and key after a place, and of each whether it is in doubt. `after_key` tells the effects of one job apart.
select k.org_id, k.key, k.mode as strategy, k.status, k.job_id, k.last_seen_at, j.job_type,
  case when pg_input_is_valid(j.account_id, 'uuid') then j.account_id::uuid end as account_id, postroom.is_in_doubt(k) as in_doubt
from idempotency_keys k
left join lateral (
  select o.job_type, o.payload ->> 'account_id' as account_id from jobs o where o.id = k.job_id
  union all
  select l.job_type, l.payload ->> 'account_id' from dead_letters l where l.job_id = k.job_id
  limit 1
) as j on k.status in ('running', 'unknown')
where k.kind = 'effect' and (k.job_id, k.key) > (%(after)s::uuid, %(after_key)s::text)
order by k.job_id, k.key limit %(batch)s

-- name: mark_unknown
-- Nobody will find out about these calls by themselves: a person has to.
update idempotency_keys k
set status = 'unknown', last_seen_at = k.last_seen_at,
  error_ref = jsonb_build_object('code', 'uncertain', 'reason', 'its job ended in the middle of the call', 'at', now())
from unnest(%(org_ids)s::uuid[], %(keys)s::text[]) as n (org_id, key)
where k.org_id = n.org_id and k.key = n.key and k.kind = 'effect' and k.status = 'running' and postroom.is_in_doubt(k)
