-- name: book_call
-- What one paid call came to, in one statement: its answer is kept as a step under the caller's claim, the call is listed, and what was
-- set aside for it turns into what it cost. Listed and charged it is with or without a claim, for the money is spent.
--   result: NULL where nothing is to be kept. account_id: NULL for a call that is not listed. A call that is listed twice is one call.
--   A reservation that was charged meanwhile is corrected; one that nobody knows any more was charged long ago.
-- The org's day is locked for this statement alone.
with claim as (
  select j.id, j.org_id, j.attempt from jobs j
  where j.id = %(job_id)s and j.claim_token = %(token)s and j.state in ('claimed', 'running') and %(result)s::jsonb is not null
  for share
),
kept as (
  insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents, started_at)
  select c.id, c.org_id, %(step)s, %(result)s, c.attempt, %(cost_microcents)s, now() - %(took)s::interval from claim c
  on conflict (job_id, name) do nothing
),
listed as (
  insert into llm_calls (org_id, account_id, job_id, purpose, model, stop_reason, request_id, refusal, input_tokens, output_tokens,
                         cache_creation_5m_tokens, cache_creation_1h_tokens, cache_read_tokens, cost_microcents)
  select org_id, id, %(job_id)s, %(purpose)s, %(model)s, %(stop_reason)s, %(request_id)s, %(refusal)s, %(input_tokens)s, %(output_tokens)s,
         %(cache_creation_5m_tokens)s, %(cache_creation_1h_tokens)s, %(cache_read_tokens)s, %(cost_microcents)s
  from accounts
  where id = %(account_id)s and org_id = %(org_id)s
  on conflict (org_id, request_id) where request_id is not null do nothing
),
gone as (
  delete from budget_reservations r where r.id = %(reservation_id)s
  returning r.org_id, r.day, r.microcents, r.charged_at
),
charged as (
  update budget_days d set
    reserved_microcents = d.reserved_microcents - case when g.charged_at is null then g.microcents else 0 end,
    spent_microcents = greatest(d.spent_microcents - case when g.charged_at is null then 0 else g.microcents end, 0) + %(cost_microcents)s
  from gone g
  where d.org_id = g.org_id and d.day = g.day
)
select exists (select from claim) as is_kept

-- name: count_unusable_answers
-- How many calls of the language model all orgs have made within a time, how many gave no answer to use, and why the vendor
-- did not take the latest that it refused.
select count(*) as calls, count(*) filter (where c.refusal is not null) as unusable,
  (array_agg(c.refusal order by c.at desc) filter (where c.stop_reason = 'refused'))[1] as latest
from orgs o
-- By org: the index begins with it.
cross join lateral (
  select l.refusal, l.stop_reason, l.at from llm_calls l where l.org_id = o.id and l.at > now() - %(within)s) c
