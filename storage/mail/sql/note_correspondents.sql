-- Whom an account heard from or wrote to, and when first. Addresses in order, so that two transactions wait and do not deadlock.
insert into correspondents as c (org_id, account_id, address, heard_at, written_at)
select a.org_id, a.id, p.address, min(p.at) filter (where not p.written), min(p.at) filter (where p.written)
from accounts a, unnest(%(addresses)s::text[], %(times)s::timestamptz[], %(written)s::boolean[]) as p (address, at, written)
where a.id = %(account_id)s
group by a.org_id, a.id, p.address
order by p.address
on conflict (org_id, account_id, address) do update set
  heard_at = least(c.heard_at, excluded.heard_at), written_at = least(c.written_at, excluded.written_at)
