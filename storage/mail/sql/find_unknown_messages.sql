-- Which of these messages have never been stored, in the given order.
select g.id
from unnest(%(ids)s::text[]) with ordinality as g (id, place)
where not exists (
  select from messages m
  where m.org_id = (select org_id from accounts where id = %(account_id)s) and m.account_id = %(account_id)s and m.gmail_message_id = g.id)
group by g.id
order by min(g.place)
