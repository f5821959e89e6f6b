-- name: add_user
-- A new person of an org; nothing when the address or the Discord id is somebody's there.
insert into users (org_id, email, role, discord_user_id, zone)
values (%(org_id)s, %(email)s, coalesce(%(role)s, 'member'), nullif(%(discord_user_id)s, ''), coalesce(%(zone)s, 'UTC'))
on conflict do nothing
returning id as user_id, org_id, email, role, discord_user_id, zone, created_at, erasing_since

-- name: change_user
-- What is null stays; an empty Discord id takes it away. Nothing when the id is another person's of the org.
update users u set
  role = coalesce(%(role)s, u.role),
  discord_user_id = case when %(discord_user_id)s::text is null then u.discord_user_id else nullif(%(discord_user_id)s, '') end,
  zone = coalesce(%(zone)s, u.zone)
where u.id = %(user_id)s
  and not exists (
    select 1 from users o where o.org_id = u.org_id and o.id <> u.id and o.discord_user_id = nullif(%(discord_user_id)s, ''))
returning u.id as user_id, u.org_id, u.email, u.role, u.discord_user_id, u.zone, u.created_at, u.erasing_since

-- name: remove_user
-- Nothing when the person owns a mailbox. Their schedules stop: a job would have nobody who asked for it.
with gone as (
  delete from users u
  where u.id = %(user_id)s and not exists (select 1 from accounts a where a.org_id = u.org_id and a.user_id = u.id)
  returning u.org_id, u.id
),
stopped as (
  update schedules s set owner_id = null, enabled = false, stopped = 'its owner was removed'
  from gone g where s.org_id = g.org_id and s.owner_id = g.id
)
select id as user_id from gone

-- name: list_users_of_roles
-- The first people of an org who have one of the roles, which are not `member`.
select id as user_id from users
where org_id = %(org_id)s and role <> 'member' and role = any (%(roles)s::text[]) and erasing_since is null
order by id limit %(limit)s

-- name: list_users
-- The people of an org, by address; a filter that is null does not narrow the list.
select id as user_id, org_id, email, role, discord_user_id, zone, created_at, erasing_since
from users
where org_id = %(org_id)s
  and (%(user_id)s::uuid is null or id = %(user_id)s)
  and (%(email)s::text is null or email = %(email)s)
  and (%(discord_user_id)s::text is null or (discord_user_id = %(discord_user_id)s and erasing_since is null))
  and (%(after_email)s::text is null or email > %(after_email)s)
order by email
limit %(limit)s

-- name: find_zone_of_user
-- The zone of a person of the org.
select zone from users where org_id = %(org_id)s and id = %(user_id)s
