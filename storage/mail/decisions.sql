-- name: record_decision
-- A decision with its actions, once per message and job: a job that runs again gets what it decided before.
with decided as (
  insert into decisions (org_id, account_id, gmail_message_id, job_id, source, classification, confidence, rationale,
                         needs_reply, needs_review, caution, label_ids, rule_ids, model, undecided_by)
  select org_id, account_id, gmail_message_id, %(job_id)s, %(source)s, %(classification)s, %(confidence)s, %(rationale)s,
         %(needs_reply)s, %(needs_review)s, %(caution)s, %(label_ids)s::text[], %(rule_ids)s::text[], %(model)s, %(undecided_by)s
  from messages
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s
  on conflict (org_id, account_id, gmail_message_id, job_id) where job_id is not null do nothing
  returning id, org_id, account_id, gmail_message_id
),
acted as (
  insert into actions (org_id, account_id, gmail_message_id, decision_id, kind, parameters, version, danger, reasons, state)
  select d.org_id, d.account_id, d.gmail_message_id, d.id, v ->> 'kind', v -> 'parameters', (v ->> 'version')::smallint, v ->> 'danger',
         array(select jsonb_array_elements_text(v -> 'reasons')), v ->> 'state'
  from decided d, jsonb_array_elements(%(actions)s) with ordinality as a (v, place)
  order by place
  returning id, decision_id
)
select d.id as decision_id, true as created, array(select a.id from acted a order by a.id) as action_ids from decided d
union all
select d.id, false, array(select a.id from actions a where a.decision_id = d.id and a.org_id = d.org_id and a.account_id = d.account_id order by a.id)
from decisions d
where d.account_id = %(account_id)s and d.gmail_message_id = %(message_id)s and d.job_id = %(job_id)s

-- name: list_decisions
-- What was decided about a message, the latest first.
select id as decision_id, source, classification, confidence, rationale, needs_reply, needs_review, caution, label_ids, rule_ids, model, undecided_by, job_id, at
from decisions
where account_id = %(account_id)s and gmail_message_id = %(message_id)s
order by at desc, id desc
limit %(limit)s

-- name: find_earlier_decisions
-- Of the decisions about a message that other jobs have made: the latest that is final, and the latest that is not. One is not final when
-- nobody decided, and the models or the prompt were others than would be asked now. A person who wants another look says so with `force`.
select distinct on (is_final)
  is_final, id as decision_id, at, undecided_by
from (
  select *, undecided_by is null or undecided_by = %(asked)s as is_final from decisions
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s and job_id is distinct from %(job_id)s
) as earlier
order by is_final, at desc, id desc

-- name: get_decision
-- One decision, and the names of the rules that matched, of those that are kept.
select d.id as decision_id, d.source, d.classification, d.confidence, d.rationale, d.caution, d.model, d.at,
  array(select coalesce(r.name, r.kind) from rules r where r.org_id = d.org_id and r.id::text = any (d.rule_ids) order by 1) as rules
from decisions d where d.account_id = %(account_id)s and d.id = %(decision_id)s
