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
select t.id, t.task_id, t.job_id, t.reply_to, t.correlation_id, t.refusal, j.state, j.attempt, j.error, j.cancel_reason, j.finished_at,
  octet_length(j.output::text) as output_bytes,
  case when octet_length(j.output::text) <= %(largest)s then j.output end as output
from taken t left join jobs j on j.id = t.job_id
