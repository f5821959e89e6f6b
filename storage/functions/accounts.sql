-- Connections of mailboxes.

-- Notes when a mailbox is connected that was disconnected; a trigger does so, because a gateway of the release before does not know of
-- the column. The time is that of its transaction, as for the first jobs that it enqueues there.
create or replace function postroom.mark_connected_at() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if new.connected_at is not distinct from old.connected_at then
    new.connected_at := now();
  end if;
  return new;
end
$$;
create or replace trigger mark_connected_at before update of status on accounts
for each row when (old.status = 'disconnected' and new.status <> 'disconnected') execute function postroom.mark_connected_at();

-- Holds an account's owner, shared, until the transaction ends, which writes an order for the account: an action, or a draft that a person
-- asks for. A disconnection locks the same row first, so it waits, sees what was written and ends it; a tenant has no right to lock it.
create or replace function postroom.hold_orders(account uuid) returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select from users u join accounts a on a.org_id = u.org_id and a.user_id = u.id
  where a.id = hold_orders.account and (not postroom.is_tenant() or a.org_id = postroom.current_org())
  for share of u
$$;
grant execute on function postroom.hold_orders to postroom_ledger, postroom_tenant;
