-- name: list_come
-- Orgs that are here and have come from another cell, and since when they have been here or on their way on.
select m.org_id, m.since from org_moves m join orgs o on o.id = m.org_id where m.state in ('arrived', 'leaving') order by m.org_id

-- name: list_that_came_later
-- Of orgs that another cell has, those that are here, too, and came there after they came here.
select o.id as org_id
from unnest(%(org_ids)s::uuid[], %(since)s::timestamptz[]) as l (org_id, since)
join orgs o on o.id = l.org_id
left join org_moves m on m.org_id = o.id
where l.since > coalesce(m.since, '-infinity')
order by o.id

-- name: list_left_for
-- Orgs that have left for a cell.
select org_id, since from org_moves where state = 'left' and cell = %(cell)s order by org_id

-- name: list_orgs_here
-- Those of these orgs that are here, be it as a copy that nobody has opened.
select id as org_id from orgs where id = any (%(org_ids)s::uuid[])
