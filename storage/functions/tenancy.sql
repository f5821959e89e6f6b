-- Which org a transaction belongs to, and what that lets it see (docs/explanation/tenancy.md).

-- The seal of an org, for the engine and for the functions that it owns.
create or replace function postroom.seal_of(org text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  key text;
begin
  select secret into key from tenant_seal;
  return encode(sha256(convert_to(key || encode(sha256(convert_to(key || org, 'UTF8')), 'hex'), 'UTF8')), 'hex');
end
$$;

-- The org of a tenant's transaction; null when none is set, refused when its seal is wrong. The seal is that of the org and, in a
-- transaction of a project, of the project: who takes the project off has no org any more.
create or replace function postroom.current_org() returns uuid
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org text := current_setting('postroom.org', true);
begin
  if coalesce(org, '') = '' then
    return null;
  end if;
  if current_setting('postroom.org_seal', true)
    is distinct from postroom.seal_of(org || coalesce('/' || nullif(current_setting('postroom.project', true), ''), ''))
  then
    raise exception 'postroom.org was set without its seal' using errcode = '42501';
  end if;
  return org::uuid;
end
$$;
grant execute on function postroom.current_org to postroom_ledger, postroom_tenant, postroom_auditor;

-- The project of a tenant's transaction; null when it may see all projects of its org. Whoever asks for it asks for the org, too, whose seal
-- says whether a project was taken off.
create or replace function postroom.current_project() returns uuid
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  project text := current_setting('postroom.project', true);
begin
  if coalesce(project, '') = '' or postroom.current_org() is null then
    return null;
  end if;
  return project::uuid;
end
$$;
grant execute on function postroom.current_project to postroom_ledger, postroom_tenant;

-- What the engine said of a tenant's transaction when it opened it; null when it said nothing, refused when the seal is wrong.
create or replace function postroom.sealed_setting(name text) returns text
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  said text := nullif(current_setting('postroom.' || name, true), '');
begin
  if said is not null and current_setting('postroom.' || name || '_seal', true)
    is distinct from postroom.seal_of(name || ':' || postroom.current_org() || ':' || said)
  then
    raise exception 'postroom.% was set without its seal', name using errcode = '42501';
  end if;
  return said;
end
$$;

-- In whose name a tenant's transaction enqueues: that of the job whose claim it holds, or of the caller that the engine names (as hexadecimal
-- digits of JSON), else its own.
create or replace function postroom.current_origin() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  held text := postroom.sealed_setting('job');
  origin jsonb;
begin
  if held is not null then
    select jsonb_build_object('actor_type', j.actor_type, 'actor_id', j.actor_id, 'request_id', j.request_id,
      'correlation_id', j.correlation_id, 'job_id', j.id) into origin
    from jobs j where j.id = held::uuid and j.org_id = postroom.current_org();
  else
    origin := convert_from(decode(postroom.sealed_setting('origin'), 'hex'), 'UTF8');
  end if;
  return coalesce(origin, '{"actor_type": "system", "actor_id": "tenant"}');
end
$$;

-- Whether only one org's rows may be touched: a handler's login is at work, by whatever name it logs in (a member of the tenant's or the
-- auditor's role and of no higher one), or an end-of-job hook is, for which the engine has set an org.
create or replace function postroom.is_tenant() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(current_setting('postroom.org', true), '') <> ''
    or ((pg_has_role(session_user, 'postroom_tenant', 'usage') or pg_has_role(session_user, 'postroom_auditor', 'usage'))
      and not pg_has_role(session_user, 'postroom_ledger', 'usage'))
$$;

-- Puts one table under row-level security: the ledger sees every row, the tenant its own org's. `seen_if` says which of these, and
-- `written_if` which the tenant may write, where that is another condition.
create or replace procedure postroom.fence_table(
  target regclass, org_column text default 'org_id', tenant_may text default 'all', seen_if text default null, written_if text default null)
language plpgsql as $$
declare
  own text := format('%I = (select postroom.current_org())', org_column);
begin
  execute format('alter table %s enable row level security', target);
  execute format('create policy ledger_all on %s to postroom_ledger using (true) with check (true)', target);
  execute format('create policy tenant_own on %s for %s to postroom_tenant using (%s)%s', target, tenant_may,
    concat_ws(' and ', own, seen_if), ' with check (' || own || ' and ' || written_if || ')');
end
$$;

-- As fence_table, for a table of projects: a transaction of a project sees that project's rows, and those of none; it writes its own alone.
-- Said by what is not true, of which PostgreSQL can estimate how much it leaves out: a coalesce is taken for a half of all rows.
create or replace procedure postroom.fence_project_table(
  target regclass, project_column text default 'project_id', tenant_may text default 'all')
language plpgsql as $$
begin
  call postroom.fence_table(target, 'org_id', tenant_may, format('((select postroom.current_project()) <> %I) is not true', project_column),
    case when tenant_may <> 'select' then
      format('coalesce((select postroom.current_project()) = %I, (select postroom.current_project()) is null)', project_column) end);
end
$$;

-- As fence_table, for what stands about a job under its `job_id`: a transaction of a project sees that of the jobs that it sees.
create or replace procedure postroom.fence_table_of_jobs(target regclass)
language plpgsql as $$
begin
  call postroom.fence_table(target, 'org_id', 'select',
    '((select postroom.current_project()) is null or exists (select from public.jobs j where j.id = job_id))');
end
$$;

-- As fence_table, for words to people, which may be of any project: a transaction of a project sees none.
create or replace procedure postroom.fence_words(target regclass)
language plpgsql as $$
begin
  call postroom.fence_table(target, seen_if => '(select postroom.current_project()) is null');
end
$$;
