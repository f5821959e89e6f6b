-- What was decided about a message, the latest first.
select id as decision_id, source, classification, confidence, rationale, needs_reply, needs_review, caution, label_ids, rule_ids, model, undecided_by, job_id, at
from decisions
where account_id = %(account_id)s and gmail_message_id = %(message_id)s
order by at desc, id desc
limit %(limit)s
