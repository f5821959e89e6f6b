-- name: record_model_call
-- One paid call, whatever became of its answer; a call that is recorded twice is one call.
insert into llm_calls (org_id, account_id, job_id, purpose, model, stop_reason, request_id, refusal, input_tokens, output_tokens,
                       cache_creation_5m_tokens, cache_creation_1h_tokens, cache_read_tokens, cost_microcents)
select org_id, id, %(job_id)s, %(purpose)s, %(model)s, %(stop_reason)s, %(request_id)s, %(refusal)s, %(input_tokens)s, %(output_tokens)s,
       %(cache_creation_5m_tokens)s, %(cache_creation_1h_tokens)s, %(cache_read_tokens)s, %(cost_microcents)s
from accounts
where id = %(account_id)s and org_id = %(org_id)s
on conflict (org_id, request_id) where request_id is not null do nothing
returning id

-- name: count_unusable_answers
-- How many calls of the language model all orgs have made within a time, how many gave no answer to use, and why the vendor
-- did not take the latest that it refused.
select count(*) as calls, count(*) filter (where c.refusal is not null) as unusable,
  (array_agg(c.refusal order by c.at desc) filter (where c.stop_reason = 'refused'))[1] as latest
from orgs o
-- By org: the index begins with it.
cross join lateral (
  select l.refusal, l.stop_reason, l.at from llm_calls l where l.org_id = o.id and l.at > now() - %(within)s) c
