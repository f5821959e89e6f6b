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
