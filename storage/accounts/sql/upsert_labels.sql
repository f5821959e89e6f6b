-- The labels that Gmail lists now. Description, use by the classifier and role are kept; a label that is made again
-- under the name of a deleted one inherits them.
with given as (
  select * from unnest(%(ids)s::text[], %(names)s::text[], %(kinds)s::text[]) as g (gmail_label_id, name, kind)
)
insert into labels as l (org_id, account_id, gmail_label_id, name, kind, role, description, for_classifier)
select a.org_id, a.id, g.gmail_label_id, g.name, g.kind, case when g.kind = 'user' then old.role end,
       coalesce(old.description, ''), coalesce(old.for_classifier, false)
from given g
join accounts a on a.id = %(account_id)s
left join lateral (
  select o.role, o.description, o.for_classifier
  from labels o
  where o.org_id = a.org_id and o.account_id = a.id and o.gmail_label_id <> g.gmail_label_id
    and lower(o.name) = lower(g.name) and o.deleted_at is not null
    and not exists (select from labels k where k.org_id = a.org_id and k.account_id = a.id and k.gmail_label_id = g.gmail_label_id)
    and not exists (select from labels k where k.org_id = a.org_id and k.account_id = a.id and k.role = o.role and k.deleted_at is null)
  order by o.deleted_at desc
  limit 1
) as old on true
order by g.gmail_label_id
on conflict (org_id, account_id, gmail_label_id) do update set
  name = excluded.name, kind = excluded.kind, seen_at = now(), deleted_at = null,
  role = case
    when l.deleted_at is null then l.role
    when exists (select from labels k where k.org_id = l.org_id and k.account_id = l.account_id and k.role = l.role and k.deleted_at is null) then null
    else l.role end
