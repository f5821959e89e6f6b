-- name: date_approvals
-- Until when these actions wait for a person; those that have a time keep it. Returns the ones that wait.
update actions set approval_expires_at = coalesce(approval_expires_at, now() + %(lasts)s)
where id = any (%(action_ids)s::uuid[]) and state = 'approved_pending'
returning id

-- name: list_overdue_approvals
-- Actions that nobody decided about in time, and those whose one reminder is due because so much of their time is over; at most so many,
-- those first whose time is over longest. What somebody has locked is passed over, and so are these orgs.
select id as action_id, org_id, account_id from actions
where state = 'approved_pending' and org_id <> all (%(besides)s::uuid[]) and (approval_expires_at <= now()
  or (approval_reminded_at is null and created_at + (approval_expires_at - created_at) * %(share)s::double precision <= now()))
order by approval_expires_at limit %(limit)s
for update skip locked

-- name: expire_approvals
-- Ends those of these actions that nobody decided about in time.
update actions set
  state = 'expired', finished_at = now(),
  error = jsonb_build_object('code', 'action.not_approved', 'reason', 'nobody approved it in time; it was not executed')
where id = any (%(action_ids)s::uuid[]) and state = 'approved_pending' and approval_expires_at <= now()
returning id as action_id, org_id, account_id

-- name: supersede_approvals
-- Ends the actions of earlier decisions about a message that still wait for a person: a newer decision takes their place. What somebody
-- has asked for by name waits on.
update actions set
  state = 'canceled', finished_at = now(),
  error = jsonb_build_object('code', 'action.superseded', 'reason', 'a newer decision about the message has taken its place')
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and state = 'approved_pending' and decision_id is not null
returning id as action_id, org_id, account_id

-- name: mark_reminders
-- Notes that these actions are reminded of.
update actions set approval_reminded_at = now()
where id = any (%(action_ids)s::uuid[]) and state = 'approved_pending' and approval_reminded_at is null and approval_expires_at > now()
returning id as action_id, org_id, account_id

-- name: record_notice
-- The message that asks.
insert into approval_notices (approval_id, number, org_id, account_id, run_id, channel_id, message_id)
values (%(approval_id)s, %(number)s, %(org_id)s, %(account_id)s, %(run_id)s, %(channel_id)s, %(message_id)s)
on conflict (approval_id, number) do update set channel_id = excluded.channel_id, message_id = excluded.message_id

-- name: list_notices
-- The messages that asked.
select number, channel_id, message_id from approval_notices where approval_id = %(approval_id)s order by number

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
