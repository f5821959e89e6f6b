-- Guards that name a job whose key they are not. Reads the whole table.
select k.key, k.status, j.id, j.state
from idempotency_keys k join jobs j on j.id = k.job_id
where k.kind = 'job' and (k.owner_token is not null or j.idempotency_key <> k.key or not j.guarded)
limit %(most)s
