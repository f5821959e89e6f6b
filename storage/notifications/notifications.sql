-- columns: notification
id as notification_id, org_id, user_id, template, version, data, bucket, channels, contact_id, due_at, asked_at, planned_at

-- columns: delivery
id as delivery_id, org_id, user_id, notification_id, digest_id, channel, contact_id, state, reason, provider_id, due_at, created_at, changed_at

-- name: notify
-- Asks for a notification; what is refused is in the audit log then.
select notification_id, created, refusal from postroom.notify(%(org_id)s, %(recipient_id)s, %(template)s, %(data)s, %(bucket)s,
  %(channels)s::text[], %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(contact_id)s, %(due_at)s)

-- name: find_notification
-- What was asked for.
select columns(notification) from notifications where org_id = %(org_id)s and id = %(notification_id)s

-- name: list_notifications
-- The newest first.
select columns(notification) from notifications
where org_id = %(org_id)s
  and (%(after_asked_at)s::timestamptz is null or (asked_at, id) < (%(after_asked_at)s, %(after_notification_id)s::uuid))
order by asked_at desc, id desc
limit %(limit)s

-- name: list_notifications_of_user
-- The same, of one person.
select columns(notification) from notifications
where org_id = %(org_id)s and user_id = %(user_id)s
  and (%(after_asked_at)s::timestamptz is null or (asked_at, id) < (%(after_asked_at)s, %(after_notification_id)s::uuid))
order by asked_at desc, id desc
limit %(limit)s

-- name: mark_planned
-- By which version of its template it is said.
update notifications set version = %(version)s, planned_at = now() where id = %(notification_id)s and planned_at is null
returning id

-- name: add_delivery
-- One for each notification, or digest, channel and address.
insert into deliveries (id, org_id, user_id, notification_id, digest_id, channel, contact_id, address_hash, state, reason, said, due_at)
values (%(delivery_id)s, %(org_id)s, %(user_id)s, %(notification_id)s, %(digest_id)s, %(channel)s, %(contact_id)s,
  (select address_hash from contact_points where org_id = %(org_id)s and id = %(contact_id)s), %(state)s, %(reason)s,
  %(said)s, %(due_at)s)
on conflict (id) do nothing

-- name: find_delivery
-- One delivery.
select columns(delivery) from deliveries where id = %(delivery_id)s

-- name: find_said
-- The words of a delivery, and for when it was asked for and meant.
select d.said, coalesce(n.asked_at, g.closed_at) as asked_at, n.due_at
from deliveries d
left join notifications n on n.org_id = d.org_id and n.id = d.notification_id
left join digests g on g.org_id = d.org_id and g.id = d.digest_id
where d.org_id = %(org_id)s and d.id = %(delivery_id)s and d.said is not null

-- name: list_deliveries
-- All of a notification, those of digests that have it among them; at most one for each channel and device.
select columns(delivery) from (
  select o.* from deliveries o where o.org_id = %(org_id)s and o.notification_id = %(notification_id)s
  union all
  select o.* from digest_items i join deliveries o on o.org_id = i.org_id and o.digest_id = i.digest_id
  where i.org_id = %(org_id)s and i.notification_id = %(notification_id)s
) as d
order by created_at, channel, id
limit 200

-- name: advance_delivery
-- News of a delivery; what is no news changes no more than an id that was not known, with which the words go.
update deliveries d set
  state = case when d.state = any (%(before)s::text[]) then %(state)s else d.state end,
  reason = case when d.state = any (%(before)s::text[]) then %(reason)s else d.reason end,
  provider_id = coalesce(d.provider_id, %(provider_id)s),
  said = case when coalesce(d.provider_id, %(provider_id)s) is null then d.said end,
  changed_at = case when d.state = any (%(before)s::text[]) then now() else d.changed_at end
where d.id = %(delivery_id)s and (d.state = any (%(before)s::text[]) or (d.provider_id is null and %(provider_id)s::text is not null))
returning d.state = %(state)s as is_news

-- name: reopen_delivery
-- A message that no provider has taken is to be sent again: its job was replayed.
update deliveries set state = 'queued', reason = null, changed_at = now()
where id = %(delivery_id)s and state = 'failed' and provider_id is null

-- name: list_known_provider_ids
-- Which of these are deliveries' of the org.
select provider_id from deliveries where org_id = %(org_id)s and provider_id = any (%(provider_ids)s::text[])
