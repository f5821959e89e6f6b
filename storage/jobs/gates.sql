-- name: open_gate
-- Opens a gate for one cause or for all but a move, which opens its own; returns a row for each that was closed, and wakes the relay, which lets out what waits.
-- Somebody has looked at the cause: how long the gate was closed is forgotten.
update gates set until = now(), guess = null
where scope = %(scope)s and key = %(key)s and case when %(cause)s::text is null then cause <> 'move' else cause = %(cause)s end and (until is null or until > now())
returning cause, pg_notify('postroom_due', 'gate')

-- name: find_org_of_gate
select id as org_id from orgs where %(scope)s in ('org', 'org_provider') and id::text = split_part(%(key)s, ':', 1)
union all
select org_id from accounts where %(scope)s = 'account' and id::text = %(key)s

-- name: list_closed_gates
-- Gates that are closed now, at most so many, after the last one that was shown.
select scope, key, cause, reason, until, actor from closed_gates
where (%(after_scope)s::text is null or (scope, key, cause) > (%(after_scope)s, %(after_key)s, %(after_cause)s))
order by scope, key, cause
limit %(limit)s

-- name: forget_ended_gates
-- Removes gates whose time is over. Returns, as parked jobs name them, those that no other cause keeps closed. One whose end was
-- a long guess is remembered for an hour, and keeps nobody back meanwhile: closed again, it stays closed for longer.
with ended as (
  delete from gates
  where until <= now() - case when guess >= interval '30 minutes' then interval '1 hour' else interval '0' end
  returning scope, key
)
select distinct 'gate:' || e.scope || ':' || e.key as name from ended e
where not exists (select from closed_gates g where g.scope = e.scope and g.key = e.key)
