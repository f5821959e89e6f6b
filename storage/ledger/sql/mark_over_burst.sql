-- Marks tenants that stay under their burst in each call and still flood a queue: among the newest jobs of the fleet, more
-- hints of theirs are out than their burst. Ids that are not made from the time are left out.
insert into orgs_over_burst (queue, org_id)
select n.queue, n.org_id
from (
  select queue, org_id, state, published_at from jobs where id <= uuidv7(interval '1 second') order by id desc limit %(newest)s
) as n
where n.queue = %(queue)s and n.state = 'queued' and n.published_at is not null
  and not exists (select from orgs_over_burst o where o.queue = n.queue and o.org_id = n.org_id)
group by n.queue, n.org_id
having count(*) > %(burst)s
returning org_id
