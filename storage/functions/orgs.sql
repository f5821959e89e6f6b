-- Orgs stay until they move to another cell, and have secrets.

-- Whether this transaction lets an org's rows leave for another ledger, or come from one, as they are. Whoever owns the ledger says so; a session
-- of the fleet's roles may set the same, and it means nothing.
create or replace function postroom.is_moving() returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(current_setting('postroom.moves', true), '') = 'on'
    and pg_has_role(session_user, (select c.relowner from pg_class c where c.oid = 'orgs'::regclass), 'USAGE')
$$;

-- Refuses orgs that are not there, or not open. Nothing is locked: who enqueues for one org waits for nobody else. Whoever lets an org leave
-- waits for everybody that has read that the org was open.
create or replace function postroom.require_orgs(org_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (select count(*) from orgs where id = any (org_ids) and closed_since is null) < cardinality(org_ids) then
    perform postroom.refuse_closed_orgs(org_ids);
  end if;
end
$$;
grant execute on function postroom.require_orgs to postroom_ledger;

-- Says why these orgs, or some of them, take nothing in. For one that is on its way to another cell, as for one that somebody has locked: whoever
-- asks for it comes again, and all others are served.
create or replace function postroom.refuse_closed_orgs(org_ids uuid[]) returns void
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  other_cell text := (select m.cell from org_moves m where m.org_id = any (org_ids) and m.state = 'left' limit 1);
begin
  if other_cell is not null then
    perform postroom.refuse('org_id', 'names an org of the cell ' || other_cell);
  elsif exists (select from orgs o where o.id = any (org_ids) and o.closed_since is not null) then
    raise exception 'org_id: names an org that is on its way between cells' using errcode = '55P03';
  end if;
  raise exception 'org_id: names no org' using errcode = '23503', constraint = 'jobs_org_id_fkey';
end
$$;

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
  if postroom.is_moving() then
    return old;
  end if;
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
