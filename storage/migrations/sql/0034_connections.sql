-- Notes when a mailbox is connected that was disconnected; a trigger does so, because a gateway of the release before does not know of
-- the column (0033_connections). The time is that of its transaction, as for the first jobs that it enqueues there.
create function postroom.mark_connected_at() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if new.connected_at is not distinct from old.connected_at then
    new.connected_at := now();
  end if;
  return new;
end
$$;
create trigger mark_connected_at before update of status on accounts
for each row when (old.status = 'disconnected' and new.status <> 'disconnected') execute function postroom.mark_connected_at();
