-- name: mailboxes_of_user
-- The mailboxes of a user that are not disconnected, two at most; only the one with the id `own` where it is given.
select id::text as id from accounts
where org_id = %(org_id)s and user_id = %(given)s::uuid and status <> 'disconnected' and (%(own)s::uuid is null or id = %(own)s::uuid)
order by id limit 2

-- name: is_user_without_mailbox
-- A row for a person of the org who has no mailbox that is not disconnected.
select u.id from users u
where u.org_id = %(org_id)s and u.id = %(given)s::uuid
  and not exists (select from accounts a where a.org_id = u.org_id and a.user_id = u.id and a.status <> 'disconnected')

-- name: thread_and_message_of_email
-- The thread of an e-mail's record, and the message that asked for an answer.
select gmail_thread_id as thread_id, gmail_message_id as message_id from emails
where org_id = %(org_id)s and account_id = %(account_id)s and id = %(given)s::uuid

-- name: thread_of_message
-- The thread of our draft, which a deletion in history names, or of a message that is stored.
select gmail_thread_id as thread_id from emails
where org_id = %(org_id)s and account_id = %(account_id)s and draft_message_id = %(given)s
union all
select gmail_thread_id from messages
where org_id = %(org_id)s and account_id = %(account_id)s and gmail_message_id = %(given)s
limit 1

-- name: newest_message_of_thread
-- The newest message that came in.
select gmail_message_id as message_id from messages
where org_id = %(org_id)s and account_id = %(account_id)s and gmail_thread_id = %(given)s and direction = 'incoming'
order by received_at desc, gmail_message_id desc limit 1

-- name: keep_email_order
-- Takes in the words of a mail; the same words under the same idempotency key are the same order.
select postroom.keep_email_order(%(org_id)s, %(words)s, %(key)s) as order_id

-- name: find_unreadable_file
-- The first file of a mail, counted from 1, that its job may not read: one of another org, of another project than the job's, or one that
-- is deleted. Nothing for an order that was taken in before: the same request is answered alike whatever has become of its files. Without
-- an order, one is to be made.
select a.place
from unnest(%(artifact_ids)s::uuid[]) with ordinality as a (id, place)
where (%(order_id)s::uuid is null or exists (select from email_orders o where o.id = %(order_id)s and o.created_at = now()))
and not exists (
  select from artifacts f
  where f.id = a.id and f.org_id = %(org_id)s and f.state = 'ready' and f.expires_at > now()
    and coalesce(%(project_id)s::uuid = f.project_id, true))
order by a.place limit 1
