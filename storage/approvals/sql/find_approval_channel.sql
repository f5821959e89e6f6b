-- The channel in which an org is asked.
select channel_id from approval_channels where org_id = %(org_id)s
