-- A question is asked where its org is asked now, and never where another org is (docs/explanation/approvals.md#where).

-- Announces that the call of an intent begins now, may take so long and sends `request`, under the claim that began it. NULL leaves
-- what was sent. A request that differs is that of a new call, for the first one certainly did nothing: the key's age counts from now.
-- Returns how long the attempt may still take; NULL when the claim is lost.
create function postroom.announce_request(held_job uuid, held_token uuid, effect_key text, lasts interval, request bytea) returns interval
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.org_id, j.claimed_at + j.deadline as ends_at from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  announced as (
    update idempotency_keys k set
      may_last_until = clock_timestamp() + lasts,
      begun_at = case when announce_request.request <> k.request then clock_timestamp() else k.begun_at end,
      request = coalesce(announce_request.request, k.request)
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.status = 'running' and k.owner_token = held_token
      and k.job_id = held_job
    returning c.ends_at
  )
  select ends_at - clock_timestamp() from announced
$$;
revoke execute on function postroom.announce_request(uuid, uuid, text, interval, bytea) from public;
grant execute on function postroom.announce_request(uuid, uuid, text, interval, bytea) to postroom_ledger, postroom_tenant;

-- Whether another org than this one is asked in a channel by now. A tenant asks for its own org only.
create function postroom.is_channel_of_another(org uuid, channel text) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (
    select from approval_channels a
    where a.channel_id = channel and a.org_id <> case when postroom.is_tenant() then postroom.current_org() else org end
  )
$$;
revoke execute on function postroom.is_channel_of_another(uuid, text) from public;
grant execute on function postroom.is_channel_of_another(uuid, text) to postroom_ledger, postroom_tenant;
