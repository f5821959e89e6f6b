-- The account of a mailbox in an org, made with its owner if new; it has no tokens and is disconnected until it gets some.
with owner_row as (
  insert into users (org_id, email, role) values (%(org_id)s, %(owner)s, 'owner')
  on conflict (org_id, email) do update set email = excluded.email
  returning id, org_id
),
made as (
  insert into accounts (org_id, user_id, email)
  select o.org_id, o.id, %(email)s from owner_row o
  on conflict (org_id, email) do update set email = excluded.email
  returning id, xmax = 0 as created
)
select id, created from made
