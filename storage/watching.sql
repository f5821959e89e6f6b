-- name: list_row_versions
-- By id: the org of a job, of a workflow's run or of a bulk action, and a number that changes when its row does.
select id, org_id, xmin::text as version from jobs where id = any (%(ids)s::uuid[])
union all
select id, org_id, xmin::text from workflow_runs where id = any (%(ids)s::uuid[])
union all
select id, org_id, xmin::text from bulk_actions where id = any (%(ids)s::uuid[])
