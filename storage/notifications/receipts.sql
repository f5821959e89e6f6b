-- name: record_email_send
-- Which delivery the id is; whoever is about to write a receipt of it is waited for.
insert into email_receipts as r (org_id, provider_id, delivery_id) values (%(org_id)s, %(provider_id)s, %(delivery_id)s)
on conflict (org_id, provider_id) do update set delivery_id = excluded.delivery_id
returning r.state, r.reason, r.suppress_for

-- name: record_email_receipt
-- The worst that was said stays: failed, then delivered, then handed over.
insert into email_receipts as r (org_id, provider_id, state, reason, suppress_for)
values (%(org_id)s, %(provider_id)s, %(state)s, %(reason)s, %(suppress_for)s)
on conflict (org_id, provider_id) do update set
  state = case when r.state = 'failed' or (r.state = 'delivered' and excluded.state = 'handed_over') or excluded.state is null
    then r.state else excluded.state end,
  reason = case when r.state = 'failed' or excluded.state is null then r.reason else excluded.reason end,
  suppress_for = coalesce(r.suppress_for, excluded.suppress_for)
returning r.delivery_id
