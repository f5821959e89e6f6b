-- Effects in doubt: of which nobody knows whether they happened, and whose job has ended, so that no attempt will find out.

-- Whether nobody works any more on an effect that may have happened: it is unknown, or the call of a job that has ended or is gone.
create function postroom.is_in_doubt(effect idempotency_keys) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select effect.kind = 'effect' and case effect.status
    when 'unknown' then true
    when 'running' then coalesce(effect.may_last_until, effect.last_seen_at + interval '1 hour') < now()
      and not exists (select from jobs j where j.id = effect.job_id and j.finished_at is null)
    else false end
$$;
revoke execute on function postroom.is_in_doubt(idempotency_keys) from public;
grant execute on function postroom.is_in_doubt(idempotency_keys) to postroom_ledger;

-- What a job `maintenance.resolve_effect` must know to ask the provider; no row when the claim is lost or the effect is not in doubt.
create function postroom.read_doubt(held_job uuid, held_token uuid, effect_key text)
returns table (job_type text, payload jsonb, payload_version integer, last_seen_at timestamptz)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.job_type, d.payload, d.payload_version, k.last_seen_at
  from jobs j
  join idempotency_keys k on k.org_id = j.org_id and k.key = effect_key
  cross join lateral (
    select o.job_type, o.payload, o.payload_version from jobs o where o.id = k.job_id and o.org_id = k.org_id
    union all
    -- Of a job past its retention, its letter knows the payload.
    select l.job_type, l.payload, l.payload_version from dead_letters l where l.job_id = k.job_id and l.org_id = k.org_id
    limit 1
  ) as d
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running') and j.job_type = 'maintenance.resolve_effect'
    and (not postroom.is_tenant() or j.org_id = postroom.current_org()) and postroom.is_in_doubt(k)
$$;
revoke execute on function postroom.read_doubt(uuid, uuid, text) from public;
grant execute on function postroom.read_doubt(uuid, uuid, text) to postroom_ledger, postroom_tenant;

-- Writes what such a job has found out, unless somebody has touched the effect since it was read; false then, or when the claim is lost.
create function postroom.conclude_doubt(
  held_job uuid, held_token uuid, effect_key text, seen_at timestamptz, ending text, outcome jsonb, problem jsonb
) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org uuid;
begin
  select j.org_id into org from jobs j
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running') and j.job_type = 'maintenance.resolve_effect'
    and (not postroom.is_tenant() or j.org_id = postroom.current_org())
  for share;
  if org is null or ending not in ('succeeded', 'failed', 'unknown') then
    return false;
  end if;
  update idempotency_keys k
  set status = ending, result_ref = outcome, error_ref = problem || jsonb_build_object('at', now()), last_seen_at = now(),
    request = case when ending = 'unknown' then k.request end
  where k.org_id = org and k.key = effect_key and k.last_seen_at = seen_at and postroom.is_in_doubt(k);
  return found;
end
$$;
revoke execute on function postroom.conclude_doubt(uuid, uuid, text, timestamptz, text, jsonb, jsonb) from public;
grant execute on function postroom.conclude_doubt(uuid, uuid, text, timestamptz, text, jsonb, jsonb) to postroom_ledger, postroom_tenant;
