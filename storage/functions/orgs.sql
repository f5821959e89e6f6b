-- Orgs stay while they have jobs, and have secrets.

-- What enforced foreign keys of jobs and guards would do, once for each org of a statement: the orgs are there, and stay
-- until the transaction has ended.
create or replace function postroom.require_orgs(org_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (select count(*) from (select from orgs where id = any (org_ids) for key share) as o) < cardinality(org_ids) then
    raise exception 'org_id: names no org' using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
end
$$;
grant execute on function postroom.require_orgs to postroom_ledger;

-- Refuses to delete an org that has jobs or guards.
create or replace function postroom.keep_org() returns trigger language plpgsql as $$
begin
  if exists (select from jobs where org_id = old.id) or exists (select from idempotency_keys where org_id = old.id) then
    raise exception 'org %: has jobs', old.id using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
  return old;
end
$$;
create or replace trigger orgs_with_jobs_stay before delete on orgs for each row execute function postroom.keep_org();

-- A secret of the caller's org, sealed; NULL without one. A handler cannot list what there is, nor write it.
create or replace function postroom.org_secret(secret_name text) returns bytea
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select s.sealed from public.org_secrets s where s.org_id = postroom.current_org() and s.name = secret_name
$$;
grant execute on function postroom.org_secret to postroom_tenant;
