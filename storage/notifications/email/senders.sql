-- name: find_email_sender
-- By whom an org's mail leaves.
select org_id, provider, from_address, mailbox, secret, set_at, set_by from email_senders where org_id = %(org_id)s

-- name: set_email_sender
-- Lets an org's mail leave so from now on.
insert into email_senders (org_id, provider, from_address, mailbox, secret, set_at, set_by)
values (%(org_id)s, %(provider)s, %(from_address)s, %(mailbox)s, %(secret)s, %(set_at)s, %(set_by)s)
on conflict (org_id) do update set
  provider = excluded.provider, from_address = excluded.from_address, mailbox = excluded.mailbox, secret = excluded.secret,
  set_at = excluded.set_at, set_by = excluded.set_by
returning org_id, provider, from_address, mailbox, secret, set_at, set_by

-- name: waiting_email
-- How many of an org's mails are not sent yet, at most so many, and since when the oldest waits.
select count(*) as mails, min(created_at) as since
from (
  select created_at from email_orders where org_id = %(org_id)s and state = 'queued' order by id limit %(most)s
) as waiting
