-- Which jobs execute actions that go ahead: at the end of its job an action is found by it.
update actions a set job_id = g.job_id
from unnest(%(action_ids)s::uuid[], %(job_ids)s::uuid[]) as g (action_id, job_id)
where a.id = g.action_id and a.state in ('queued', 'approved')
returning a.id
