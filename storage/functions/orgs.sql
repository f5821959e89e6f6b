-- Orgs stay for good, and have secrets.

-- Refuses orgs that are not there. Nothing is locked: an org is never deleted, and who enqueues for one org waits for nobody else.
create or replace function postroom.require_orgs(org_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (select count(*) from orgs where id = any (org_ids)) < cardinality(org_ids) then
    raise exception 'org_id: names no org' using errcode = '23503', constraint = 'jobs_org_id_fkey';
  end if;
end
$$;
grant execute on function postroom.require_orgs to postroom_ledger;

-- Refuses orgs that are erased, of which a client may still ask something. What the fleet asks of them itself waits behind their gate, and goes.
create or replace function postroom.refuse_erased_orgs(org_ids uuid[]) returns void
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from orgs o where o.id = any (org_ids) and o.erasing_since is not null) then
    perform postroom.refuse('org_id', 'names an org that is erased');
  end if;
end
$$;
grant execute on function postroom.refuse_erased_orgs to postroom_ledger;

create or replace function postroom.keep_org() returns trigger language plpgsql as $$
begin
  raise exception 'org %: an org is never deleted', old.id using errcode = '23503', constraint = 'jobs_org_id_fkey';
end
$$;
create or replace trigger orgs_stay before delete on orgs for each row execute function postroom.keep_org();

-- A secret of the caller's org, sealed; NULL without one. A handler cannot list what there is, nor write it.
create or replace function postroom.org_secret(secret_name text) returns bytea
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select s.sealed from public.org_secrets s where s.org_id = postroom.current_org() and s.name = secret_name
$$;
grant execute on function postroom.org_secret to postroom_tenant;
