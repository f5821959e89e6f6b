-- The message that asks about an action.
insert into approval_notices (action_id, number, org_id, account_id, channel_id, message_id)
select id, %(number)s, org_id, account_id, %(channel_id)s, %(message_id)s from actions where id = %(action_id)s
on conflict (action_id, number) do update set channel_id = excluded.channel_id, message_id = excluded.message_id
