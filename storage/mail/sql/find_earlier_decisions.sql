-- Of the decisions about a message that other jobs have made: the latest that is final, and the latest that is not. One is not final when
-- nobody decided, and the models or the prompt were others than would be asked now. A person who wants another look says so with `force`.
select distinct on (is_final)
  is_final, id as decision_id, at, undecided_by
from (
  select *, undecided_by is null or undecided_by = %(asked)s as is_final from decisions
  where account_id = %(account_id)s and gmail_message_id = %(message_id)s and job_id is distinct from %(job_id)s
) as earlier
order by is_final, at desc, id desc
