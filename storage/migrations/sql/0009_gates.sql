-- A gate for each cause: an operator's pause and what the fleet closed by itself stand side by side, and each is opened by its own.

-- What somebody adds by hand is a pause.
alter table gates add column cause text not null default 'pause' check (cause in ('pause', 'slow_down', 'consent', 'budget'));
update gates set cause = case
  when scope = 'org_provider' then 'budget' when reason like 'needs_reconsent:%' then 'consent' else 'slow_down' end
where actor = 'postroom';
alter table gates drop constraint gates_pkey, add primary key (scope, key, cause);
