-- The org of that name, made if there is none. The caller holds the name's advisory lock, since names are not unique.
with found as (
  select id from orgs where name = %(name)s order by created_at limit 1
),
made as (
  insert into orgs (name) select %(name)s where not exists (select from found) returning id
)
select id from found union all select id from made
