-- name: list_profile_names
-- The names of the profiles that a mailbox uses, its org's and its own; without a mailbox those of the org and of all its mailboxes.
select distinct name from agent_profiles
where org_id = %(org_id)s and (%(account_id)s::uuid is null or account_id is null or account_id = %(account_id)s)

-- name: find_own_addresses
-- Which of these addresses are a mailbox's of the org, its aliases included.
select distinct n.address
from unnest(%(addresses)s::text[]) as n (address)
where exists (
  select from accounts a where a.org_id = %(org_id)s and (a.email = n.address or n.address = any (a.own_addresses)))
order by n.address
