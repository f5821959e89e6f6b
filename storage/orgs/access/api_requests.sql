-- name: remember_api_request
-- Takes an idempotency key for a request of the org; no row when an earlier request has it. Waits for one that is under way.
insert into api_requests as r (org_id, key, fingerprint, expires_at)
values (%(org_id)s, %(key)s, %(fingerprint)s, now() + %(keep_for)s::interval)
on conflict (org_id, key) do update set
  fingerprint = excluded.fingerprint, made = null, created_at = now(), expires_at = excluded.expires_at
where r.expires_at <= now()
returning key

-- name: find_api_request
-- The request that has an idempotency key, what it made, and the type of the job if it made one that is still there.
select r.fingerprint, r.made, j.job_type
from api_requests r left join jobs j on j.id = r.made[1]
where r.org_id = %(org_id)s and r.key = %(key)s

-- name: answer_api_request
-- Keeps what a request made.
update api_requests set made = %(made)s::uuid[]
where org_id = %(org_id)s and key = %(key)s
