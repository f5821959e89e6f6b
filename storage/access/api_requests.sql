-- name: remember_api_request
-- Takes an idempotency key for a request of the org; no row when an earlier request has it. Waits for one that is under way.
insert into api_requests as r (org_id, key, fingerprint, expires_at)
values (%(org_id)s, %(key)s, %(fingerprint)s, now() + %(keep_for)s::interval)
on conflict (org_id, key) do update set
  fingerprint = excluded.fingerprint, job_id = null, made = null, created_at = now(), expires_at = excluded.expires_at
where r.expires_at <= now()
returning key

-- name: find_api_request
-- The request that has an idempotency key, what it made, and the type of the job if it made one that is still there.
select r.fingerprint, coalesce(r.made, array[r.job_id]) as made, j.job_type
from api_requests r left join jobs j on j.id = r.job_id
where r.org_id = %(org_id)s and r.key = %(key)s

-- name: answer_api_request
-- Keeps what a request made. `job_id` is what a gateway of the release before answers with.
update api_requests set made = %(made)s::uuid[], job_id = (%(made)s::uuid[])[1]
where org_id = %(org_id)s and key = %(key)s

-- name: purge_api_requests
-- Forgets requests whose time is over.
delete from api_requests where (org_id, key) in (
  select org_id, key from api_requests where expires_at < now() order by expires_at limit %(batch)s
)
returning key
