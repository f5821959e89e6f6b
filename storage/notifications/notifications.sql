-- name: notify
-- Asks for a notification; what is refused is in the audit log then.
select notification_id, created, refusal from postroom.notify(%(org_id)s, %(recipient_id)s, %(template)s, %(data)s, %(bucket)s,
  %(channels)s::text[], %(actor_type)s, %(actor_id)s, %(request_id)s, %(correlation_id)s, %(contact_id)s, %(due_at)s)

-- name: find_notification
-- What was asked for.
select id as notification_id, org_id, user_id, template, version, data, bucket, channels, contact_id, due_at, asked_at, planned_at
from notifications where org_id = %(org_id)s and id = %(notification_id)s

-- name: list_notifications
-- The newest first.
select id as notification_id, org_id, user_id, template, version, data, bucket, channels, contact_id, due_at, asked_at, planned_at
from notifications
where org_id = %(org_id)s
  and (%(after_asked_at)s::timestamptz is null or (asked_at, id) < (%(after_asked_at)s, %(after_notification_id)s::uuid))
order by asked_at desc, id desc
limit %(limit)s

-- name: list_notifications_of_user
-- The same, of one person.
select id as notification_id, org_id, user_id, template, version, data, bucket, channels, contact_id, due_at, asked_at, planned_at
from notifications
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
insert into deliveries (id, org_id, user_id, notification_id, digest_id, channel, contact_id, address_hash, state, reason, due_at)
values (%(delivery_id)s, %(org_id)s, %(user_id)s, %(notification_id)s, %(digest_id)s, %(channel)s, %(contact_id)s,
  (select address_hash from contact_points where org_id = %(org_id)s and id = %(contact_id)s), %(state)s, %(reason)s, %(due_at)s)
on conflict (id) do nothing

-- name: find_delivery
-- One delivery.
select id as delivery_id, org_id, user_id, notification_id, digest_id, channel, contact_id, state, reason, provider_id, order_id, due_at, created_at, changed_at
from deliveries where org_id = %(org_id)s and id = %(delivery_id)s

-- name: list_deliveries
-- All of a notification, those of digests that have it among them; at most one for each channel and device.
select d.id as delivery_id, d.org_id, d.user_id, d.notification_id, d.digest_id, d.channel, d.contact_id, d.state, d.reason, d.provider_id,
  d.order_id, d.due_at, d.created_at, d.changed_at
from (
  select o.* from deliveries o where o.org_id = %(org_id)s and o.notification_id = %(notification_id)s
  union all
  select o.* from digest_items i join deliveries o on o.org_id = i.org_id and o.digest_id = i.digest_id
  where i.org_id = %(org_id)s and i.notification_id = %(notification_id)s
) as d
order by d.created_at, d.channel, d.id
limit 200

-- name: find_delivery_anywhere
-- One delivery of whichever org.
select id as delivery_id, org_id, user_id, notification_id, digest_id, channel, contact_id, state, reason, provider_id, order_id, due_at, created_at, changed_at
from deliveries where id = %(delivery_id)s

-- name: advance_delivery
-- News of a delivery; what is no news changes no more than an id that was not known.
update deliveries d set
  state = case when d.state = any (%(before)s::text[]) then %(state)s else d.state end,
  reason = case when d.state = any (%(before)s::text[]) then %(reason)s else d.reason end,
  provider_id = coalesce(d.provider_id, %(provider_id)s),
  changed_at = case when d.state = any (%(before)s::text[]) then now() else d.changed_at end
where d.id = %(delivery_id)s and (d.state = any (%(before)s::text[]) or (d.provider_id is null and %(provider_id)s::text is not null))
returning d.state = %(state)s as is_news

-- name: reopen_delivery
-- A message that no provider has taken is to be sent again: its job was replayed.
update deliveries set state = 'queued', reason = null, changed_at = now()
where id = %(delivery_id)s and state = 'failed' and provider_id is null

-- name: keep_delivery_order
-- The first order stays.
update deliveries set order_id = coalesce(order_id, %(order_id)s) where id = %(delivery_id)s

-- name: list_known_provider_ids
-- Which of these are deliveries' of the org.
select provider_id from deliveries where org_id = %(org_id)s and provider_id = any (%(provider_ids)s::text[])
