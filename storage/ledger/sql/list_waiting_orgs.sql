-- Orgs that have ordinary or light jobs in the backlog of a queue at one priority, in the order of their ids between two given ones, with
-- their weights. It goes from org to org and never reads an org's jobs, so that a tenant's flood costs no more than one job.
with recursive waiting as (
  (
    select org_id from jobs
    where queue = %(queue)s and priority = %(priority)s and light = %(light)s and backlog_since is not null
      and org_id between %(start)s and %(last)s
    order by org_id limit 1
  )
  union all
  select n.org_id from waiting w cross join lateral (
    select org_id from jobs
    where queue = %(queue)s and priority = %(priority)s and light = %(light)s and backlog_since is not null
      and org_id > w.org_id and org_id <= %(last)s
    order by org_id limit 1
  ) as n
)
select w.org_id, o.weight from (select org_id from waiting limit %(most)s) as w join orgs o on o.id = w.org_id order by w.org_id
