-- Nobody will find out about these calls by themselves: a person has to.
update idempotency_keys k
set status = 'unknown', last_seen_at = k.last_seen_at,
  error_ref = jsonb_build_object('code', 'uncertain', 'reason', 'its job ended in the middle of the call', 'at', now())
from unnest(%(org_ids)s::uuid[], %(keys)s::text[]) as n (org_id, key)
where k.org_id = n.org_id and k.key = n.key and k.kind = 'effect' and k.status = 'running' and postroom.is_in_doubt(k)
