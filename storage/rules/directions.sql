-- name: count_directions
-- How many directions an org has.
select count(*) as directions from directions where org_id = %(org_id)s

-- name: list_kept_directions
-- The directions of an org, widest scope first.
select d.id as direction_id, d.account_id, d.scope, d.scope_ref, d.content, d.enabled, d.created_at
from directions d
where d.org_id = %(org_id)s and (%(account_id)s::uuid is null or d.account_id is null or d.account_id = %(account_id)s)
order by array_position(array['global', 'account', 'domain', 'sender'], d.scope), d.id
limit %(limit)s

-- name: remove_direction
-- Removes a direction of an org.
delete from directions where id = %(direction_id)s and org_id = %(org_id)s
returning id
