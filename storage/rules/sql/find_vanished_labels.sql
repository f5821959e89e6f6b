-- Which of these labels no mailbox has any more: the account's, or for a rule of the whole org any account's.
select n.label_id, (select min(v.name) from labels v where v.org_id = %(org_id)s and v.gmail_label_id = n.label_id) as name
from unnest(%(ids)s::text[]) as n (label_id)
where not exists (
  select from labels l
  where l.org_id = %(org_id)s and l.gmail_label_id = n.label_id and l.deleted_at is null
    and (%(account_id)s::uuid is null or l.account_id = %(account_id)s))
order by n.label_id
