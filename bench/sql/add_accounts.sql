-- Adds active accounts, a hundred to an org, each org with one user.
with companies as (
  insert into orgs (name) select 'org ' || n from generate_series(1, (%(accounts)s + 99) / 100) as n returning id
),
people as (
  insert into users (org_id, email) select id, 'owner@' || id || '.example' from companies returning id, org_id
)
insert into accounts (org_id, user_id, email, status, sealed_refresh_token)
select org_id, id, 'box' || n || '@' || org_id || '.example', 'active', 'sealed'
from people cross join generate_series(1, 100) as n limit %(accounts)s
