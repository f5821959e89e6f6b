-- Sets money aside for one call under the caller's claim, if the org's day has that much left: check and reservation are one
-- conditional upsert of one row, so no two workers can reserve the same money. Nothing is set aside when the job is to stop or
-- the named step has a result from an earlier attempt. Returns one row while the claim is held.
with claim as (
  select j.id, j.org_id, j.cancel_requested_at, j.cancel_reason from jobs j
  where j.id = %(job_id)s and j.claim_token = %(token)s and j.state in ('claimed', 'running') for share
),
kept as (
  select s.result from job_steps s join claim c on s.job_id = c.id where s.name = %(step)s::text
),
asked as (
  select c.id as job_id, c.org_id, (now() at time zone 'UTC')::date as day,
    coalesce((select b.daily_microcents from org_budgets b where b.org_id = c.org_id), %(default_daily)s::bigint) as daily
  from claim c
  where c.cancel_requested_at is null and not exists (select from kept)
),
day as (
  insert into budget_days as d (org_id, day, reserved_microcents)
  select a.org_id, a.day, %(microcents)s from asked a where %(microcents)s <= a.daily
  on conflict (org_id, day) do update set reserved_microcents = d.reserved_microcents + excluded.reserved_microcents
  where d.spent_microcents + d.reserved_microcents + excluded.reserved_microcents <= (select a.daily from asked a)
  returning d.org_id, d.day
),
reservation as (
  insert into budget_reservations (org_id, day, job_id, token, microcents)
  select d.org_id, d.day, %(job_id)s, %(token)s, %(microcents)s from day d
  returning id
)
select r.id as reservation_id, k.result as kept,
  case when c.cancel_requested_at is not null then coalesce(c.cancel_reason, 'canceled') end as cancel_reason
from claim c left join reservation r on true left join kept k on true
