-- name: reserve_budget
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
  select a.org_id, a.day, %(microcents)s::bigint from asked a where %(microcents)s <= a.daily
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

-- name: charge_lost_reservations
-- Charges what was set aside for calls whose claim is gone: the worker died, and nobody knows whether the provider billed them.
-- Deletes charged reservations of days past. Returns how many were charged.
with lost as (
  select r.id, r.org_id, r.day, r.microcents from budget_reservations r
  where r.charged_at is null and (%(org_id)s::uuid is null or r.org_id = %(org_id)s)
    and not exists (
      select from jobs j where j.id = r.job_id and j.claim_token = r.token and j.state in ('claimed', 'running'))
  order by r.org_id, r.day, r.id
  limit %(batch)s
  for update of r skip locked
),
charged as (
  update budget_reservations r set charged_at = now() from lost l where r.id = l.id
),
sums as (
  select org_id, day, sum(microcents)::bigint as microcents from lost group by org_id, day
),
moved as (
  update budget_days d set reserved_microcents = d.reserved_microcents - s.microcents,
    spent_microcents = d.spent_microcents + s.microcents
  from sums s
  where d.org_id = s.org_id and d.day = s.day
),
forgotten as (
  delete from budget_reservations r where r.charged_at < now() - interval '2 days' and r.made_at < now() - interval '2 days'
)
select count(*) as charged from lost

-- name: hold_budget_day
-- Locks an org's day until the end of the transaction and returns how it stands; whoever sets a budget takes the same lock, so
-- that a gate cannot be closed for a budget that has just been raised.
with made as (
  insert into budget_days as d (org_id, day) values (%(org_id)s, (now() at time zone 'UTC')::date)
  on conflict (org_id, day) do update set spent_microcents = d.spent_microcents
  returning d.day, d.spent_microcents, d.reserved_microcents, d.exhausted_at
)
select m.day, m.spent_microcents, m.reserved_microcents, m.exhausted_at,
  ((m.day + 1)::timestamp at time zone 'UTC') as ends_at, now() as now
from made m

-- name: list_budgets
-- Every org's budget and its day in UTC: its own figure or the installation's, what is spent and reserved, and whether its jobs are parked.
select o.id as org_id, o.name, coalesce(b.daily_microcents, %(default_daily)s::bigint) as daily_microcents,
  b.daily_microcents is not null as own, coalesce(d.spent_microcents, 0) as spent_microcents,
  coalesce(d.reserved_microcents, 0) as reserved_microcents,
  greatest(0, coalesce(b.daily_microcents, %(default_daily)s::bigint) - coalesce(d.spent_microcents + d.reserved_microcents, 0)) as left_microcents,
  d.exhausted_at, postroom.parked_for_money(o.id, %(provider)s::text) as parked_until
from orgs o
left join org_budgets b on b.org_id = o.id
left join budget_days d on d.org_id = o.id and d.day = (now() at time zone 'UTC')::date
where (%(of_org)s::uuid is null or o.id = %(of_org)s)
  and (%(after_spent_microcents)s::bigint is null
    or (coalesce(d.spent_microcents, 0), o.id) < (%(after_spent_microcents)s::bigint, %(after_org_id)s::uuid))
order by coalesce(d.spent_microcents, 0) desc, o.id desc
limit %(limit)s
