-- An id is free again when its job has left the ledger. Whoever takes it, in the same org or another, gets nothing of the first job.

alter table dead_letters add constraint one_letter_per_job unique (job_id, org_id);
alter table dead_letters drop constraint dead_letters_job_id_key;

-- As in 0001_claims.sql, with the history and the effects of the job's own org; a closed letter of an earlier job with its id is written anew.
create or replace function postroom.write_dead_letter(died jobs) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  values ('job.deadlettered', died.org_id, died.project_id, died.actor_type, died.actor_id, died.request_id, died.correlation_id,
          died.id, died.job_type, died.attempt, jsonb_build_object('error', died.error));
  insert into dead_letters as d (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, history, effects)
  values (
    died.org_id, died.id, died.job_type, died.queue, died.payload, died.payload_version,
    coalesce(died.error ->> 'reason', 'unknown'), died.error, postroom.action_plan(died.error),
    coalesce((select jsonb_agg(jsonb_build_object('at', a.at, 'event', a.event, 'attempt', a.attempt, 'data', a.data) order by a.id)
              from audit_log a where a.job_id = died.id and a.org_id = died.org_id), '[]'),
    coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'mode', k.mode, 'status', k.status, 'last_seen_at', k.last_seen_at))
              from idempotency_keys k where k.job_id = died.id and k.org_id = died.org_id and k.kind = 'effect'), '[]'))
  on conflict (job_id, org_id) do update set
    job_type = excluded.job_type, queue = excluded.queue, payload = excluded.payload, payload_version = excluded.payload_version,
    reason = excluded.reason, error = excluded.error, plan = excluded.plan, history = excluded.history, effects = excluded.effects,
    state = 'open', replay_job_id = null, resolution = null, resolved_by = null, resolved_at = null, created_at = now()
  where d.state <> 'open';
  if died.job_type <> 'deadletter.quarantine' and exists (select from job_types where name = 'deadletter.quarantine') then
    perform postroom.enqueue_jobs(jsonb_build_array(jsonb_build_object(
      'job_type', 'deadletter.quarantine', 'org_id', died.org_id, 'project_id', died.project_id, 'payload', jsonb_build_object('job_id', died.id),
      'request_id', died.request_id, 'correlation_id', died.correlation_id, 'parent_id', died.id)));
  end if;
end
$$;

-- As in 0008_secrets.sql. The first look passes over what stands between the letters of a name, as postroom.names_secret does:
-- `pass_word` is a password's name.
create or replace function postroom.carries_secret(document jsonb) returns text
language plpgsql immutable strict parallel safe as $$
declare
  words text := lower(document::text);
  letters text := translate(words, '_-. ', '');
begin
  -- Nearly every document ends here: none of its words is part of a secret's name or look.
  if not (strpos(letters, 'passw') > 0 or strpos(letters, 'pwd') > 0 or strpos(letters, 'passphrase') > 0 or strpos(letters, 'passcode') > 0
    or strpos(letters, 'secret') > 0 or strpos(letters, 'credential') > 0 or strpos(letters, 'authorization') > 0
    or strpos(letters, 'cookie') > 0 or strpos(letters, 'jwt') > 0 or strpos(letters, 'token') > 0 or strpos(letters, 'key') > 0
    or strpos(words, 'earer') > 0 or strpos(words, 'asic') > 0 or strpos(words, 'eyj') > 0 or strpos(words, 'ya29.') > 0
    or strpos(words, '1//') > 0 or strpos(words, 'sk-') > 0 or strpos(words, 'k_live_') > 0 or strpos(words, 'k_test_') > 0
    or strpos(words, 'whsec_') > 0 or strpos(words, 'sg.') > 0 or strpos(words, 're_') > 0 or strpos(words, 'hf_') > 0
    or strpos(words, 'npm_') > 0 or strpos(words, 'glpat-') > 0 or strpos(words, 'ghp_') > 0 or strpos(words, 'gho_') > 0
    or strpos(words, 'ghu_') > 0 or strpos(words, 'ghs_') > 0 or strpos(words, 'ghr_') > 0 or strpos(words, 'github_pat_') > 0
    or strpos(words, 'xox') > 0 or strpos(words, 'akia') > 0 or strpos(words, 'asia') > 0 or strpos(words, 'aiza') > 0
    or strpos(words, '://') > 0 or strpos(words, '=') > 0) then
    return null;
  end if;
  return (
    with recursive walk (field, inner_value) as (
      select '', document
      union all
      select coalesce(i.field, w.field), i.inner_value
      from walk w cross join lateral (
        select o.key as field, o.value as inner_value
        from jsonb_each(case jsonb_typeof(w.inner_value) when 'object' then w.inner_value else '{}' end) as o
        union all
        select null, a.value from jsonb_array_elements(case jsonb_typeof(w.inner_value) when 'array' then w.inner_value else '[]' end) as a
      ) as i
    )
    select w.field from walk w
    where postroom.names_secret(w.field) or postroom.looks_secret(w.field)
      or (jsonb_typeof(w.inner_value) = 'string' and postroom.looks_secret(w.inner_value #>> '{}'))
    limit 1);
end
$$;
