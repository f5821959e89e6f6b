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
