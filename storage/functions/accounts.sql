-- Connections of mailboxes.

-- Holds an account's owner, shared, until the transaction ends, which writes an order for the account: an action, or a draft that a person
-- asks for. A disconnection locks the same row first, so it waits, sees what was written and ends it; a tenant has no right to lock it.
create or replace function postroom.hold_orders(account uuid) returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select from users u join accounts a on a.org_id = u.org_id and a.user_id = u.id
  where a.id = hold_orders.account and (not postroom.is_tenant() or a.org_id = postroom.current_org())
  for share of u
$$;
grant execute on function postroom.hold_orders to postroom_ledger, postroom_tenant;
