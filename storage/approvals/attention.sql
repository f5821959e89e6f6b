-- name: count_attention
-- What waits for a person, over all orgs: open dead letters, effects in doubt, questions, and closed gates, each counted up to a bound.
select
  (select count(*) from (select from dead_letters where state = 'open' limit %(most)s) as one) as letters,
  (select count(*) from (select from idempotency_keys where unknown_since is not null and kind = 'effect' limit %(most)s) as one) as doubts,
  (select count(*) from (select from actions where state = 'approved_pending' limit %(most)s) as one)
    + (select count(*) from (select from workflow_nodes where approval_id is not null and state = 'waiting' limit %(most)s) as one) as approvals,
  (select count(*) from (select from closed_gates limit %(most)s) as one) as gates
