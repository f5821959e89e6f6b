-- Restores the constraints that check for secrets; they hold for rows written from now on.
do $$
declare
  spared record;
begin
  for spared in select * from spared_scans loop
    execute format('alter domain %s add constraint %I %s not valid', spared.holder, spared.name, spared.definition);
  end loop;
  drop table spared_scans;
end
$$
