-- How long a run has waited for money, quota or consent in all, and since when it does: none of it is the agent's time.
alter table agent_runs add column waited interval not null default '0' check (waited >= '0');
alter table agent_runs add column waits_since timestamptz;
grant update (waited, waits_since) on agent_runs to postroom_tenant;
