-- name: list_sendable_channels
-- The channels by which an org can send.
select 'email' as channel from email_senders where org_id = %(org_id)s
union all
select channel from channel_senders where org_id = %(org_id)s

-- name: find_channel_sender
-- The sender of a channel.
select org_id, channel, provider, from_name, secret, set_at, set_by from channel_senders where org_id = %(org_id)s and channel = %(channel)s

-- name: list_channel_senders
-- An org has two at most.
select org_id, channel, provider, from_name, secret, set_at, set_by from channel_senders where org_id = %(org_id)s order by channel

-- name: set_channel_sender
-- In place of an earlier one.
insert into channel_senders (org_id, channel, provider, from_name, secret, set_at, set_by)
values (%(org_id)s, %(channel)s, %(provider)s, %(from_name)s, %(secret)s, %(set_at)s, %(set_by)s)
on conflict (org_id, channel) do update set provider = excluded.provider, from_name = excluded.from_name, secret = excluded.secret,
  set_at = excluded.set_at, set_by = excluded.set_by
returning org_id, channel, provider, from_name, secret, set_at, set_by

-- name: remove_channel_sender
-- The org sends by it no more.
delete from channel_senders where org_id = %(org_id)s and channel = %(channel)s
returning org_id, channel, provider, from_name, secret, set_at, set_by
