-- Turns what was set aside for a call into what it cost, with or without a claim, for the money is spent. A reservation that was
-- charged meanwhile is corrected; one that nobody knows any more was charged long ago. Returns a row when there was one.
with gone as (
  delete from budget_reservations r where r.id = %(reservation_id)s
  returning r.org_id, r.day, r.microcents, r.charged_at
)
update budget_days d set
  reserved_microcents = d.reserved_microcents - case when g.charged_at is null then g.microcents else 0 end,
  spent_microcents = greatest(d.spent_microcents - case when g.charged_at is null then 0 else g.microcents end, 0) + %(cost)s
from gone g
where d.org_id = g.org_id and d.day = g.day
returning d.org_id
