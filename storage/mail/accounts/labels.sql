-- name: retire_labels
-- Labels that Gmail no longer lists, and the rules that named them: disabled with the reason, for a person to mend.
with vanished as (
  update labels set deleted_at = now()
  where account_id = %(account_id)s and deleted_at is null and gmail_label_id <> all (%(ids)s::text[])
  returning org_id, account_id, gmail_label_id, name
),
named as (
  select org_id, account_id, array_agg(gmail_label_id) as ids from vanished group by org_id, account_id
),
rules_off as (
  update rules r set enabled = false, updated_at = now(),
    disabled_reason = 'Label ''' || (select left(min(v.name), 200) from vanished v where v.gmail_label_id = any (r.label_ids)) || ''' was deleted from Gmail'
  from named n
  where r.org_id = n.org_id and r.enabled and r.label_ids && n.ids and (r.account_id is null or r.account_id = n.account_id)
  returning r.id
)
select (select coalesce(array_agg(gmail_label_id order by gmail_label_id), '{}') from vanished) as labels,
       (select coalesce(array_agg(id order by id), '{}') from rules_off) as disabled_rules

-- name: upsert_labels
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
    and lower(o.name collate "pg_c_utf8") = lower(g.name collate "pg_c_utf8") and o.deleted_at is not null
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

-- name: list_labels
-- An account's labels as Gmail last listed them.
select gmail_label_id as label_id, name, kind, role, description, for_classifier
from labels
where account_id = %(account_id)s and deleted_at is null
order by gmail_label_id

-- name: list_label_roles
-- Every role that a label of the account has or had when its person deleted it.
select distinct role from labels where account_id = %(account_id)s and role is not null order by role

-- name: assign_label_role
-- Gives a live label its meaning, and takes that meaning from any other of the account's.
with freed as (
  update labels set role = null
  where account_id = %(account_id)s and role = %(role)s and gmail_label_id <> %(label_id)s
  returning 1
)
update labels set role = %(role)s
where account_id = %(account_id)s and gmail_label_id = %(label_id)s and deleted_at is null
  and (select count(*) from freed) >= 0
returning gmail_label_id

-- name: describe_label
-- What the user says of a label.
update labels set description = %(description)s, for_classifier = %(for_classifier)s
where account_id = %(account_id)s and gmail_label_id = %(label_id)s and deleted_at is null
returning gmail_label_id

-- name: translate_labels
-- For each label id the id that stands for it now: itself while it lives, else the live label of the same name.
select old.gmail_label_id as old_id, coalesce(case when old.deleted_at is null then old.gmail_label_id end, new.gmail_label_id) as new_id
from labels old
left join labels new on new.org_id = old.org_id and new.account_id = old.account_id and new.deleted_at is null
  and lower(new.name collate "pg_c_utf8") = lower(old.name collate "pg_c_utf8") and old.deleted_at is not null
where old.account_id = %(account_id)s and old.gmail_label_id = any (%(ids)s::text[])
