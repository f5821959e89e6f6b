-- name: save_template
-- A new version. Of two that are saved at one time, the second is refused by the key, and saved once more.
insert into notification_templates (org_id, name, version, category, document, created_by)
select %(org_id)s, %(name)s, coalesce(max(version), 0) + 1, %(category)s, %(document)s, %(created_by)s
from notification_templates where org_id = %(org_id)s and name = %(name)s
returning org_id, name, version, document, created_at, created_by

-- name: find_template
-- A version, the newest when none is named.
select org_id, name, version, document, created_at, created_by from notification_templates
where org_id = %(org_id)s and name = %(name)s and (%(version)s::integer is null or version = %(version)s)
order by version desc
limit 1

-- name: list_templates
-- The newest version of each, by name. Each step looks for the next name in the key: versions that are many cost nothing.
with recursive newest as (
  (select t.org_id, t.name, t.version, t.document, t.created_at, t.created_by, 1 as number from notification_templates t
   where t.org_id = %(org_id)s and (%(after)s::text is null or t.name > %(after)s)
   order by t.name, t.version desc limit 1)
  union all
  select n.* from newest l cross join lateral (
    select t.org_id, t.name, t.version, t.document, t.created_at, t.created_by, l.number + 1 from notification_templates t
    where t.org_id = %(org_id)s and t.name > l.name
    order by t.name, t.version desc limit 1) as n
  where l.number < %(limit)s
)
select org_id, name, version, document, created_at, created_by from newest order by name
