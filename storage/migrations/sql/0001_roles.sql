-- Six roles: the owner (whoever migrates) owns every object; the ledger is the engine; the tenant is a handler; the auditor is a handler
-- that may write details of the audit log and nothing else; who watches (KEDA, Grafana) reads the history of jobs and asks how deep a queue is;
-- hooks own the end-of-job hooks and do not log in. A handler's connection logs
-- in as the tenant or the auditor, so that no RESET ROLE can take it further (promise P6).
do $$
declare
  wanted text;
begin
  foreach wanted in array array['postroom_ledger login', 'postroom_tenant login', 'postroom_auditor login', 'postroom_watch login', 'postroom_hooks nologin'] loop
    -- Roles belong to the whole cluster: another database of it, or an administrator, may have made them.
    continue when exists (select from pg_roles where rolname = split_part(wanted, ' ', 1));
    begin
      execute 'create role ' || wanted;
    exception when duplicate_object or unique_violation then
      null;  -- another migration made it meanwhile
    end;
  end loop;
  -- Hooks run under the tenants' policies and grants, for the org of the job.
  if not pg_has_role('postroom_hooks', 'postroom_tenant', 'member') then
    grant postroom_tenant to postroom_hooks;
  end if;
  -- Whose sessions postroom.end_old_sessions may end, which that role owns.
  if not pg_has_role('postroom_hooks', 'postroom_auditor', 'member') then
    grant postroom_auditor to postroom_hooks;
  end if;
  -- The owner hands hooks over to that role, but does not act under its policies.
  if not pg_has_role(current_user, 'postroom_hooks', 'set') then
    execute format('grant postroom_hooks to %I with inherit false, set true', current_user);
  end if;
end
$$;

create schema postroom;
grant usage on schema postroom, public to postroom_ledger, postroom_tenant, postroom_auditor, postroom_watch;
revoke create on schema public from public;

-- PostgreSQL lets everybody execute a new function. Here nobody may, but for the grants beside each function: most of them
-- run with the owner's rights, and a tenant that could call them would reach across orgs (promise P6).
alter default privileges revoke execute on routines from public;
