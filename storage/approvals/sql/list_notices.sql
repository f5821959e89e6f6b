-- The messages that asked about an action.
select number, channel_id, message_id from approval_notices where action_id = %(action_id)s order by number
