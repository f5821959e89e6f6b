-- Every org's budget and its day in UTC: its own figure or the installation's, what is spent and reserved, and whether its jobs are parked.
select o.id as org_id, o.name, coalesce(b.daily_microcents, %(default_daily)s::bigint) as daily_microcents,
  b.daily_microcents is not null as own, coalesce(d.spent_microcents, 0) as spent_microcents,
  coalesce(d.reserved_microcents, 0) as reserved_microcents, d.exhausted_at, g.until as parked_until
from orgs o
left join org_budgets b on b.org_id = o.id
left join budget_days d on d.org_id = o.id and d.day = (now() at time zone 'UTC')::date
left join gates g on g.scope = 'org_provider' and g.key = o.id || ':' || %(provider)s::text and g.cause = 'budget' and g.until > now()
where %(org_id)s::uuid is null or o.id = %(org_id)s
order by coalesce(d.spent_microcents, 0) desc, o.name, o.id
limit %(limit)s
