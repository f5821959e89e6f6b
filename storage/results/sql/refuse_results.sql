-- Notes who waits for the results of messages that were refused: they get the field and the reason.
insert into result_requests (task_id, refusal, reply_to, correlation_id, is_sent, send_at, keep_until)
select task_id, jsonb_build_object('field', field, 'reason', reason), reply_to, correlation_id, %(is_sent)s::boolean,
  case when %(is_sent)s::boolean then now() end, now() + postroom.keeps_results_for()
from unnest(%(task_ids)s::text[], %(reply_tos)s::uuid[], %(correlation_ids)s::text[], %(fields)s::text[], %(reasons)s::text[])
  as u (task_id, reply_to, correlation_id, field, reason)
