-- Effects (promise P3): the intent before a call to the outside world, and its result after it. Both are functions, so that a
-- tenant's transaction can write them together with the rows that belong to them. Both act only under a claim of the
-- caller's own org, so a tenant can neither forge nor read another's.

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before:
-- nothing (act), a result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is
-- still alive (busy), an end that nobody knows (unknown), or the key of a job (taken).
-- Each lock is taken by a statement of its own: a statement that waited for one decides by what it saw before it waited.
create function postroom.begin_effect(held_job uuid, held_token uuid, effect_key text, strategy text, keep_for interval)
returns table (what text, result jsonb)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org uuid;
  stood idempotency_keys;
  is_alive boolean;
begin
  select j.org_id into org from jobs j
  where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
    and (not postroom.is_tenant() or j.org_id = postroom.current_org())
  for share;
  if org is null then
    return;
  end if;
  insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at)
  values (org, effect_key, 'effect', strategy, 'running', held_job, held_token, now() + keep_for)
  on conflict (org_id, key) do nothing;
  if found then
    return query select 'act', null::jsonb;
    return;
  end if;
  select k.* into stood from idempotency_keys k where k.org_id = org and k.key = effect_key for update;
  if stood.key is null then
    raise exception 'the key of an effect was deleted while it began' using errcode = '40001';
  end if;
  if stood.kind <> 'effect' then
    return query select 'taken', null::jsonb;
    return;
  end if;
  -- Jobs that were claimed together have the same token: it names a claim only with its job.
  is_alive := exists (select from jobs o where o.id = stood.job_id and o.claim_token = stood.owner_token and o.id <> held_job);
  if stood.status = 'failed' or (stood.status = 'running' and not is_alive) then
    update idempotency_keys k set last_seen_at = now(), status = 'running', owner_token = held_token, job_id = held_job
    where k.org_id = org and k.key = effect_key;
  else
    update idempotency_keys k set last_seen_at = now() where k.org_id = org and k.key = effect_key;
  end if;
  return query select
    case
      when stood.status = 'failed' then 'act'
      when stood.status = 'succeeded' then 'done'
      when stood.status = 'running' then case when is_alive then 'busy' else 'find_out' end
      else 'unknown'
    end,
    stood.result_ref;
end
$$;
grant execute on function postroom.begin_effect(uuid, uuid, text, text, interval) to postroom_ledger, postroom_tenant;

-- Writes how an effect ended, under the claim that began it; false when that claim is lost.
create function postroom.finish_effect(held_job uuid, held_token uuid, effect_key text, ending text, outcome jsonb, problem jsonb)
returns boolean
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.org_id from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  ended as (
    update idempotency_keys k set status = ending, result_ref = outcome, error_ref = problem, last_seen_at = now()
    from claim c
    where k.org_id = c.org_id and k.key = effect_key and k.kind = 'effect' and k.owner_token = held_token
      and k.job_id = held_job
    returning k.key
  )
  select exists (select from ended)
$$;
grant execute on function postroom.finish_effect(uuid, uuid, text, text, jsonb, jsonb) to postroom_ledger, postroom_tenant;
