-- What is null stays; an empty Discord id takes it away. Nothing when the id is another person's of the org.
update users u set
  role = coalesce(%(role)s, u.role),
  discord_user_id = case when %(discord_user_id)s::text is null then u.discord_user_id else nullif(%(discord_user_id)s, '') end,
  zone = coalesce(%(zone)s, u.zone)
where u.id = %(user_id)s
  and not exists (
    select 1 from users o where o.org_id = u.org_id and o.id <> u.id and o.discord_user_id = nullif(%(discord_user_id)s, ''))
returning u.id as user_id, u.org_id, u.email, u.role, u.discord_user_id, u.zone, u.created_at
