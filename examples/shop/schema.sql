-- The shop's tables, in Postroom's database, so that an order and its job are one transaction. The owner of the database runs this after
-- Postroom's own migration: psql "$POSTROOM_DATABASE_URL" -f schema.sql

do $$ begin
  create role shop_service login;
exception when duplicate_object or unique_violation then null;
end $$;

create schema shop;
create table shop.orders (
  -- A UUID, for the shop's org may move to another ledger, which numbers rows of its own.
  id uuid primary key default uuidv7(),
  org_id uuid not null,
  buyer text not null check (buyer <> ''),
  total_cents integer not null check (total_cents > 0),
  placed_at timestamptz not null default now(),
  confirmed_at timestamptz,
  unique (org_id, id)
);
create table shop.invoices (
  org_id uuid not null,
  order_id uuid not null,
  number text not null,
  total_cents integer not null,
  primary key (org_id, order_id),
  foreign key (org_id, order_id) references shop.orders (org_id, id)
);

-- Handlers log in as postroom_tenant, and see the rows of their job's org.
call postroom.fence_table('shop.orders');
call postroom.fence_table('shop.invoices');
-- Which rows go with an org that is erased or moves, and with a person: what refers to a table comes after it.
call postroom.erasure_rule('shop.orders');
call postroom.erasure_rule('shop.invoices');
grant usage on schema shop to postroom_tenant;
grant select, update (confirmed_at) on shop.orders to postroom_tenant;
grant select, insert on shop.invoices to postroom_tenant;

-- The service sees all of the shop, and of Postroom the one function.
create policy service_all on shop.orders to shop_service using (true) with check (true);
create policy service_all on shop.invoices for select to shop_service using (true);
grant usage on schema shop, postroom to shop_service;
grant select, insert on shop.orders to shop_service;
grant select on shop.invoices to shop_service;
grant execute on function postroom.enqueue to shop_service;
