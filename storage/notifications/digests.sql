-- name: open_digest
-- The open digest of a person, channel and category, a new one where none is open. The update changes nothing and locks the row.
insert into digests as d (org_id, user_id, channel, category, closes_at)
values (%(org_id)s, %(user_id)s, %(channel)s, %(category)s, %(closes_at)s)
on conflict (org_id, user_id, channel, category) where closed_at is null do update set closed_at = d.closed_at
returning d.id as digest_id, d.closes_at, d.xmax = 0 as is_new

-- name: add_digest_item
-- An item of an open digest.
insert into digest_items (org_id, digest_id, notification_id) values (%(org_id)s, %(digest_id)s, %(notification_id)s)
on conflict do nothing

-- name: hold_open_digest
-- Waits for those who are putting an item in.
select id from digests where org_id = %(org_id)s and id = %(digest_id)s and closed_at is null for no key update

-- name: close_digest
-- Closes it, with what is in it now.
with closed as (
  update digests set closed_at = now() where org_id = %(org_id)s and id = %(digest_id)s and closed_at is null returning id
)
select i.notification_id from closed c
join digest_items i on i.org_id = %(org_id)s and i.digest_id = c.id
join notifications n on n.org_id = i.org_id and n.id = i.notification_id
order by n.asked_at, n.id

-- name: find_digest
-- One digest.
select id as digest_id, org_id, user_id, category, channel, closed_at from digests where org_id = %(org_id)s and id = %(digest_id)s

-- name: suppress_digest_items
-- Why the items of a digest are not sent.
update deliveries d set state = 'suppressed', reason = %(reason)s, changed_at = now()
from digest_items i
where i.org_id = %(org_id)s and i.digest_id = %(digest_id)s and d.org_id = i.org_id and d.notification_id = i.notification_id
  and d.channel = %(channel)s and d.state = 'collected'

-- name: list_digest_items
-- The first items with their words, and how many there are.
select d.said, count(*) over () as total from digest_items i
join digests g on g.org_id = i.org_id and g.id = i.digest_id
join notifications n on n.org_id = i.org_id and n.id = i.notification_id
left join deliveries d on d.org_id = i.org_id and d.notification_id = i.notification_id and d.channel = g.channel and d.state = 'collected'
where i.org_id = %(org_id)s and i.digest_id = %(digest_id)s
order by n.asked_at, n.id
limit %(limit)s

-- name: list_overdue_digests
-- Open digests of all orgs whose time was over ten minutes ago: nothing is known to close them.
select id as digest_id, org_id from digests where closed_at is null and closes_at < now() - interval '10 minutes'
order by closes_at limit %(limit)s
