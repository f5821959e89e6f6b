-- One paid call, whatever became of its answer; a call that is recorded twice is one call.
insert into llm_calls (org_id, account_id, job_id, purpose, model, stop_reason, request_id, refusal, input_tokens, output_tokens,
                       cache_creation_5m_tokens, cache_creation_1h_tokens, cache_read_tokens, cost_microcents)
select org_id, id, %(job_id)s, %(purpose)s, %(model)s, %(stop_reason)s, %(request_id)s, %(refusal)s, %(input_tokens)s, %(output_tokens)s,
       %(cache_creation_5m_tokens)s, %(cache_creation_1h_tokens)s, %(cache_read_tokens)s, %(cost_microcents)s
from accounts
where id = %(account_id)s and org_id = %(org_id)s
on conflict (org_id, request_id) where request_id is not null do nothing
returning id
