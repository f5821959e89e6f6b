-- The org is not asked on Discord any more.
delete from approval_channels where org_id = %(org_id)s
returning org_id, channel_id, set_at
