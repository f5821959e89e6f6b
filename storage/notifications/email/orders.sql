-- name: find_email_order
-- One order, with the words.
select id as order_id, org_id, words, reference, state, provider, from_address, mailbox, draft_id, draft_message_id,
  provider_id, message_id, error, created_at, ended_at
from email_orders where id = %(order_id)s

-- name: list_email_orders
-- An org's orders after a position, the newest first; a filter that is null does not narrow the list.
select id as order_id, org_id, words, reference, state, provider, from_address, mailbox, draft_id, draft_message_id,
  provider_id, message_id, error, created_at, ended_at
from email_orders
where org_id = %(org_id)s and (%(created_at)s::timestamptz is null or (created_at, id) < (%(created_at)s, %(order_id)s::uuid))
order by created_at desc, id desc
limit %(limit)s

-- name: bind_email_order
-- Says by whom an order is about to leave. An order whose job has ended without sending it is on its way again. A draft in another mailbox
-- is no draft of it any more.
update email_orders set
  draft_id = case when mailbox is not distinct from %(mailbox)s then draft_id end,
  draft_message_id = case when mailbox is not distinct from %(mailbox)s then draft_message_id end,
  provider = %(provider)s, from_address = %(from_address)s, mailbox = %(mailbox)s, state = 'queued', error = null, ended_at = null
where id = %(order_id)s and state <> 'sent'

-- name: record_email_draft
-- Keeps the draft that an order's mail is sent from.
update email_orders set draft_id = %(draft_id)s, draft_message_id = nullif(%(message_id)s, '') where id = %(order_id)s

-- name: record_email_sent
-- Writes that an order's mail has left; a row only the first time.
update email_orders set
  state = 'sent', provider_id = %(provider_id)s, message_id = %(message_id)s, error = null, ended_at = now()
where id = %(order_id)s and state <> 'sent'
returning id

-- name: cancel_email_order
-- Ends an order that is not to be sent any more.
update email_orders set state = 'canceled', error = null, ended_at = now() where id = %(order_id)s and state = 'queued'
