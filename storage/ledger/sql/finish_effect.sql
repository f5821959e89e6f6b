-- Records how an effect ended, under the claim that began it; matches nothing when the claim is lost.
with claim as (
  select j.org_id from jobs j where j.id = %(job_id)s and j.claim_token = %(token)s and j.state in ('claimed', 'running') for share
)
update idempotency_keys k set status = %(status)s, result_ref = %(result)s, error_ref = %(error)s, last_seen_at = now()
from claim c
where k.org_id = c.org_id and k.key = %(key)s and k.kind = 'effect' and k.owner_token = %(token)s
  and k.job_id = %(job_id)s
returning k.key
