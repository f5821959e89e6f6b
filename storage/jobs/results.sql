-- name: ask_results
-- Notes who waits for the results of jobs; a job that has ended already is due at once. Returns the jobs that there are: of the others
-- nothing is noted. Where the job's end is written meanwhile, one of the two waits for the other's lock on the row, and sees what it did.
with asked as materialized (
  select * from unnest(%(job_ids)s::uuid[], %(task_ids)s::text[]) as u (job_id, task_id)
),
locked as materialized (
  select id from jobs where id in (select job_id from asked) order by id for update
),
marked as (
  update jobs j set result_wanted = true from locked l where j.id = l.id
  returning j.id, j.finished_at is not null as ended
),
noted as (
  insert into result_requests as r (task_id, job_id, is_sent, send_at, keep_until)
  select distinct on (a.job_id, a.task_id) a.task_id, a.job_id, %(is_sent)s::boolean,
    case when m.ended and %(is_sent)s::boolean then now() end, case when m.ended then now() + postroom.keeps_results_for() end
  from asked a join marked m on m.id = a.job_id
  order by a.job_id, a.task_id
  on conflict (job_id, task_id) where job_id is not null do update set
    is_sent = excluded.is_sent, send_at = excluded.send_at, keep_until = excluded.keep_until, tries = 0
)
select id from marked

-- name: refuse_results
-- Notes who waits for the results of messages that were refused: they get the field and the reason.
insert into result_requests (task_id, refusal, is_sent, send_at, keep_until)
select task_id, jsonb_build_object('field', field, 'reason', reason), %(is_sent)s::boolean,
  case when %(is_sent)s::boolean then now() end, now() + postroom.keeps_results_for()
from unnest(%(task_ids)s::text[], %(fields)s::text[], %(reasons)s::text[]) as u (task_id, field, reason)

-- name: take_due_results
-- Takes results that are to be sent, for longer each time: whoever has taken one and dies leaves it to the next. Removes those that
-- nobody may read any more, sent or not.
with purged as (
  delete from result_requests where id in (select id from result_requests where keep_until < now() limit 1000 for update skip locked)
),
due as materialized (
  select id from result_requests where send_at <= now() and keep_until >= now() order by send_at limit %(most)s for update skip locked
),
taken as (
  update result_requests r set send_at = now() + least(interval '10 seconds' * 2 ^ r.tries, interval '10 minutes'),
    tries = least(r.tries + 1, 100)
  from due d where r.id = d.id
  returning r.*
)
select t.id, t.task_id, t.job_id, t.refusal, j.state, j.attempt, j.error, j.cancel_reason, j.finished_at,
  octet_length(j.output::text) as output_bytes,
  case when octet_length(j.output::text) <= %(largest)s then j.output end as output
from taken t left join jobs j on j.id = t.job_id

-- name: find_result
-- What is known of a task id: of the job with that id; else of the job that a client's message with that task id became or found, or
-- why it was refused. No row when nothing is known.
with known as (
  select 1 as rank, %(job_id)s::uuid as job_id, null::jsonb as refusal, null::bigint as id
  where exists (select from jobs where id = %(job_id)s::uuid)
  union all
  select 2, r.job_id, r.refusal, r.id from result_requests r where r.task_id = %(task_id)s
)
select k.job_id, k.refusal, j.state, j.attempt, j.error, j.cancel_reason, j.finished_at,
  octet_length(j.output::text) as output_bytes,
  case when octet_length(j.output::text) <= %(largest)s then j.output end as output
from known k left join jobs j on j.id = k.job_id
order by k.rank, k.id desc limit 1
