-- Who may append what to the audit log. A handler appends what its job type lists, about its own job; the frame appends the rest. Nobody
-- but the owner's functions chooses an entry's number or its time.

-- What handlers of the type may append. Moves of jobs (job.*) are none of it: they are written with the move.
alter table job_types add column audits text[] not null default '{}'
  constraint job_types_audits_check check (array_to_string(audits, ' ') !~ '(^| )job\.');

revoke insert on audit_entries from postroom_tenant;
revoke insert (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  on audit_entries from postroom_tenant;
drop policy tenant_append on audit_entries;
revoke insert on audit_entries from postroom_ledger;
grant insert (
  event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, worker_id, claimed_at, parent_id,
  replay_of, data
) on audit_entries to postroom_ledger;

-- Appends an event about a held job, with the job's own context. Raises PR001 when the claim is lost, and 42501 for an event that its
-- type does not list.
create function postroom.append_event(held_job uuid, held_token uuid, what text, facts jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform postroom.hold_claim(held_job, held_token);
  insert into public.audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  select what, j.org_id, j.project_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id, j.id, j.job_type, j.attempt, facts
  from public.jobs j join public.job_types t on t.name = j.job_type
  where j.id = held_job and what = any (t.audits);
  if not found then
    raise exception 'event: % is not listed by the job''s type', what using errcode = '42501';
  end if;
end
$$;
grant execute on function postroom.append_event(uuid, uuid, text, jsonb) to postroom_ledger, postroom_tenant;

-- Writes when claimed jobs began. One that has ended meanwhile, lost its claim, or is locked by a transaction of its own
-- handler is passed over: nobody may wait here for a handler. A function, so that its caller need not be allowed to choose the
-- time of an entry.
create function postroom.start_jobs(job_ids uuid[], tokens uuid[], started_ats timestamptz[]) returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with begun as (
    select * from unnest(job_ids, tokens, started_ats) as b (id, token, at)
  ),
  free as (
    select j.id, b.at from public.jobs j join begun b on b.id = j.id
    where j.claim_token = b.token and j.state = 'claimed'
    for no key update of j skip locked
  ),
  started as (
    update public.jobs j set state = 'running', attempt = j.attempt + 1, started_at = least(greatest(f.at, j.claimed_at), now())
    from free f where j.id = f.id
    returning j.*
  )
  insert into public.audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt,
    worker_id, claimed_at, data)
  select started_at, 'job.started', org_id, project_id, actor_type, actor_id, request_id, correlation_id, id, job_type, attempt,
    worker_id, claimed_at, null
  from started
$$;
grant execute on function postroom.start_jobs(uuid[], uuid[], timestamptz[]) to postroom_ledger;
