-- The addresses the account may send as, besides its own.
update accounts set own_addresses = (select coalesce(array_agg(distinct lower(a) order by lower(a)), '{}') from unnest(%(addresses)s::text[]) as a)
where id = %(account_id)s
returning id
