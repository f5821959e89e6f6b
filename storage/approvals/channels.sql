-- name: find_approval_channel
-- The channel in which an org is asked, and since when.
select org_id, channel_id, set_at from approval_channels where org_id = %(org_id)s

-- name: set_approval_channel
-- The channel in which an org is asked from now on; nothing when it is another org's. Naming the same channel again changes nothing.
insert into approval_channels (org_id, channel_id)
select %(org_id)s, %(channel_id)s
where not exists (select 1 from approval_channels where channel_id = %(channel_id)s and org_id <> %(org_id)s)
on conflict (org_id) do update set
  channel_id = excluded.channel_id,
  set_at = case when approval_channels.channel_id = excluded.channel_id then approval_channels.set_at else now() end
returning org_id, channel_id, set_at

-- name: remove_approval_channel
-- The org is not asked on Discord any more.
delete from approval_channels where org_id = %(org_id)s
returning org_id, channel_id, set_at
