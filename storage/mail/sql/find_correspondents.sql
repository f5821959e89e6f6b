-- Which of these addresses the account has had to do with before a time, and whether it wrote to them.
select c.address, coalesce(c.written_at < %(before)s, false) as written_to
from correspondents c
where c.org_id = (select org_id from accounts where id = %(account_id)s) and c.account_id = %(account_id)s
  and c.address = any (%(addresses)s::text[]) and least(c.heard_at, c.written_at) < %(before)s
