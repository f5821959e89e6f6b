-- The channel in which an org is asked, and since when.
select org_id, channel_id, set_at from approval_channels where org_id = %(org_id)s
