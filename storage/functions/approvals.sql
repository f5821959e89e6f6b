-- Approvals: where an org is asked.

-- Whether another org than this one is asked in a channel by now. A tenant asks for its own org only.
create or replace function postroom.is_channel_of_another(org uuid, channel text) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (
    select from approval_channels a
    where a.channel_id = channel and a.org_id <> case when postroom.is_tenant() then postroom.current_org() else org end
  )
$$;
grant execute on function postroom.is_channel_of_another to postroom_ledger, postroom_tenant;
