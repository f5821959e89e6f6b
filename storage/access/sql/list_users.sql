-- The people of an org, by address; a filter that is null does not narrow the list.
select id as user_id, org_id, email, role, discord_user_id, zone, created_at
from users
where org_id = %(org_id)s
  and (%(email)s::text is null or email = %(email)s)
  and (%(discord_user_id)s::text is null or discord_user_id = %(discord_user_id)s)
order by email
limit %(limit)s
