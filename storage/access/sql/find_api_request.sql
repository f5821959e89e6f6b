-- The request that has an idempotency key, what it made, and the type of the job if it made one that is still there.
select r.fingerprint, coalesce(r.made, array[r.job_id]) as made, j.job_type
from api_requests r left join jobs j on j.id = r.job_id
where r.org_id = %(org_id)s and r.key = %(key)s
