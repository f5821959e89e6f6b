-- Orgs whose money for today is gone.
with made as (
  insert into orgs (name) select 'exhausted ' || n from generate_series(1, %(orgs)s) n returning id
)
insert into budget_days (org_id, day, exhausted_at)
select id, (now() at time zone 'utc')::date, now() from made returning org_id, day
