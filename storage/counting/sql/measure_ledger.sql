-- What else an operator watches, as a number per kind: worker commands with a lease, closed gates by scope, open dead letters, and the
-- unsettled effects of jobs that are held or whose dead letter is open; at most so many jobs and letters are looked at.
select 'workers' as what, '' as kind, count(*) as number from workers where lease_until > now()
union all
select 'gates', scope, count(distinct key) from gates where until is null or until > now() group by scope
union all
select 'dead_letters', '', count(*) from (select from dead_letters where state = 'open' order by created_at limit %(most)s) as letters
union all
select 'effects', k.status, count(*)
from (
  (select job_id from dead_letters where state = 'open' order by created_at limit %(most)s)
  union
  (select id from (
    select id, state from jobs where next_check_at <= now() + interval '1 hour' order by next_check_at limit %(most)s
  ) as next where state in ('claimed', 'running'))
) as j (job_id)
join idempotency_keys k on k.job_id = j.job_id and k.kind = 'effect' and k.status in ('running', 'unknown', 'failed')
group by k.status
