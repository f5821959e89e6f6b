-- Notes who waits for the results of jobs; a job that has ended already is due at once. Returns the jobs that there are: of the others
-- nothing is noted. Where the job's end is written meanwhile, one of the two waits for the other's lock on the row, and sees what it did.
with asked as materialized (
  select * from unnest(%(job_ids)s::uuid[], %(task_ids)s::text[], %(reply_tos)s::uuid[], %(correlation_ids)s::text[])
    as u (job_id, task_id, reply_to, correlation_id)
),
locked as materialized (
  select id from jobs where id in (select job_id from asked) order by id for update
),
marked as (
  update jobs j set result_wanted = true from locked l where j.id = l.id
  returning j.id, j.finished_at is not null as ended
),
noted as (
  insert into result_requests as r (task_id, job_id, reply_to, correlation_id, is_sent, send_at, keep_until)
  select distinct on (a.job_id, a.task_id) a.task_id, a.job_id, a.reply_to, a.correlation_id, %(is_sent)s::boolean,
    case when m.ended and %(is_sent)s::boolean then now() end, case when m.ended then now() + postroom.keeps_results_for() end
  from asked a join marked m on m.id = a.job_id
  order by a.job_id, a.task_id
  on conflict (job_id, task_id) where job_id is not null do update set
    reply_to = excluded.reply_to, correlation_id = excluded.correlation_id, is_sent = excluded.is_sent, send_at = excluded.send_at,
    keep_until = excluded.keep_until, tries = 0
)
select id from marked
