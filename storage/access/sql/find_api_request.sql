-- The request that has an idempotency key, and the type of the job that it was answered with, if that is still there.
select r.fingerprint, r.job_id, j.job_type
from api_requests r left join jobs j on j.id = r.job_id
where r.org_id = %(org_id)s and r.key = %(key)s
