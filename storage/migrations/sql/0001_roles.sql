-- Four roles: the owner (whoever migrates) owns every object; the ledger is the frame; the tenant is a handler; hooks own the
-- end-of-job hooks and do not log in. A handler's connection logs in as the tenant, so that no RESET ROLE can take it further
-- (promise P6).
do $$
declare
  wanted text;
begin
  foreach wanted in array array['postroom_ledger login', 'postroom_tenant login', 'postroom_hooks nologin'] loop
    -- Roles belong to the whole cluster: another database of it, or an administrator, may have made them.
    continue when exists (select from pg_roles where rolname = split_part(wanted, ' ', 1));
    begin
      execute 'create role ' || wanted;
    exception when duplicate_object or unique_violation then
      null;  -- another migration made it meanwhile
    end;
  end loop;
end
$$;

create schema postroom;
grant usage on schema postroom, public to postroom_ledger, postroom_tenant;
revoke create on schema public from public;

-- The org of a tenant's transaction is a setting, and settings can be set by any SQL. So it carries a seal that only
-- the frame can make: a keyed hash with a secret that the tenant role cannot read.
create table tenant_seal (
  only_row boolean primary key default true check (only_row),
  secret text not null
);
insert into tenant_seal (secret) values (gen_random_uuid()::text || gen_random_uuid()::text);
grant select on tenant_seal to postroom_ledger;

-- The seal of an org, for the frame and for the functions that it owns.
create function postroom.seal_of(org text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  key text;
begin
  select secret into key from tenant_seal;
  return encode(sha256(convert_to(key || encode(sha256(convert_to(key || org, 'UTF8')), 'hex'), 'UTF8')), 'hex');
end
$$;

create function postroom.current_org() returns uuid
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  org text := current_setting('postroom.org', true);
begin
  if coalesce(org, '') = '' then
    return null;
  end if;
  if current_setting('postroom.org_seal', true) is distinct from postroom.seal_of(org) then
    raise exception 'postroom.org was set without its seal' using errcode = '42501';
  end if;
  return org::uuid;
end
$$;
grant execute on function postroom.current_org() to postroom_ledger, postroom_tenant;

-- Whether only one org's rows may be touched: a handler's login is at work, by whatever name it logs in (a member of the tenant
-- role and of no higher one), or an end-of-job hook is, for which the frame has set an org.
create function postroom.is_tenant() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(current_setting('postroom.org', true), '') <> ''
    or (pg_has_role(session_user, 'postroom_tenant', 'usage') and not pg_has_role(session_user, 'postroom_ledger', 'usage'))
$$;

-- Puts one table under row-level security: the ledger sees every row, the tenant its own org's.
create procedure postroom.fence_table(target regclass, org_column text default 'org_id', tenant_may text default 'all')
language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format('create policy ledger_all on %s to postroom_ledger using (true) with check (true)', target);
  execute format(
    'create policy tenant_own on %s for %s to postroom_tenant using (%I = (select postroom.current_org()))',
    target, tenant_may, org_column);
end
$$;

-- The name of a field that carries a credential, by its telling name (promise P9); null when none does. In PL/pgSQL, for a check is
-- made ready anew in each statement that writes: a function in SQL would be read there, and its expression compiled, each time.
create function postroom.carries_secret(document jsonb) returns text
language plpgsql immutable parallel safe as $$
begin
  return jsonb_path_query_first(
    document,
    '$.** ? (@.type() == "object").keyvalue().key ? (@ like_regex "^(.*[_-])?(passwo?r?d|passphrase|secret|api[_-]?key|access[_-]?token|refresh[_-]?token|id[_-]?token|authorization|credentials?|private[_-]?key|client[_-]?secret)$" flag "i")'
  ) #>> '{}';
end
$$;
-- For checks: names the field, which a check by itself cannot.
create function postroom.refuse_secret(payload jsonb) returns boolean language plpgsql immutable as $$
begin
  raise exception 'payload.%: a payload must not carry a secret', postroom.carries_secret(payload) using errcode = 'PR003';
end
$$;
grant execute on function postroom.refuse_secret(jsonb) to postroom_ledger;
grant execute on function postroom.carries_secret(jsonb) to postroom_ledger, postroom_tenant;
