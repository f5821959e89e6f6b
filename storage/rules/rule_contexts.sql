-- name: find_own_addresses
-- Which of these addresses are a mailbox's of the org, its aliases included.
select distinct n.address
from unnest(%(addresses)s::text[]) as n (address)
where exists (
  select from accounts a where a.org_id = %(org_id)s and (a.email = n.address or n.address = any (a.own_addresses)))
order by n.address
