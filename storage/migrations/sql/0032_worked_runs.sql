-- How long the attempts of a run have worked; no kind of waiting is in it. The columns waited and waits_since are written by workers of the
-- release before.
alter table agent_runs add column worked interval not null default '0' check (worked >= '0');
grant update (worked) on agent_runs to postroom_tenant;
