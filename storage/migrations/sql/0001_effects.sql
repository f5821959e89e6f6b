-- Effects (promise P3): the intent before a call to the outside world, and its result after it. Both are functions, so that a
-- tenant's transaction can write them together with the rows that belong to them. Both act only under a claim of the
-- caller's own org, so a tenant can neither forge nor read another's.

-- Writes the intent, under the caller's claim. Returns no row without the claim, else what stood there before:
-- nothing (act), a result (done), an unfinished intent of an earlier attempt (find_out), an intent whose own claim is
-- still alive (busy), an end that nobody knows (unknown), or the key of a job (taken).
create function postroom.begin_effect(held_job uuid, held_token uuid, effect_key text, strategy text, keep_for interval)
returns table (what text, result jsonb)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with claim as (
    select j.id, j.org_id from jobs j
    where j.id = held_job and j.claim_token = held_token and j.state in ('claimed', 'running')
      and (not postroom.is_tenant() or j.org_id = postroom.current_org())
    for share
  ),
  intent as (
    insert into idempotency_keys as k (org_id, key, kind, mode, status, job_id, owner_token, expires_at)
    select c.org_id, effect_key, 'effect', strategy, 'running', c.id, held_token, now() + keep_for from claim c
    on conflict (org_id, key) do update set
      last_seen_at = now(),
      status = case when k.status = 'failed' then 'running' else k.status end,
      owner_token = case
        when k.status in ('failed') or (k.status = 'running' and not exists (
          select from jobs o where o.id = k.job_id and o.claim_token = k.owner_token and o.id <> excluded.job_id))
        then excluded.owner_token else k.owner_token end,
      job_id = case
        when k.status in ('failed') or (k.status = 'running' and not exists (
          select from jobs o where o.id = k.job_id and o.claim_token = k.owner_token and o.id <> excluded.job_id))
        then excluded.job_id else k.job_id end
    returning old.status as old_status, new.status as new_status, new.owner_token, new.job_id, new.result_ref, new.kind
  )
  select
    case
      when i.kind <> 'effect' then 'taken'
      when i.old_status is null or i.old_status = 'failed' then 'act'
      when i.new_status = 'succeeded' then 'done'
      -- Jobs that were claimed together have the same token: it names a claim only with its job.
      when i.new_status = 'running' and i.owner_token = held_token and i.job_id = held_job then 'find_out'
      when i.new_status = 'running' then 'busy'
      else 'unknown'
    end,
    i.result_ref
  from intent i
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
