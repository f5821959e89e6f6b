-- A new person of an org; nothing when the address or the Discord id is somebody's there.
insert into users (org_id, email, role, discord_user_id, zone)
values (%(org_id)s, %(email)s, coalesce(%(role)s, 'member'), nullif(%(discord_user_id)s, ''), coalesce(%(zone)s, 'UTC'))
on conflict do nothing
returning id as user_id, org_id, email, role, discord_user_id, zone, created_at
