-- Guards that say something else of their job than its state does, among the newest jobs. states and words: what a guard says in which
-- state.
select j.id, j.state, k.status
from (select id, org_id, idempotency_key, state, guarded from jobs order by id desc limit %(batch)s) as j
join idempotency_keys k on k.org_id = j.org_id and k.key = j.idempotency_key and k.kind = 'job' and k.job_id = j.id
where j.guarded and k.status <> (%(words)s::text[])[array_position(%(states)s::text[], j.state::text)]
limit %(most)s
