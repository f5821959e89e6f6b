-- Which relay leads: a leased row, which only the frame can touch. Nothing that a tenant can lock has a part in it.
create table relay_leader (
  only_row boolean primary key default true check (only_row),
  holder uuid not null,
  -- The backend of its session: when that is gone, its lease need not be waited for.
  backend_pid integer not null,
  backend_start timestamptz not null,
  hostname text not null,
  pid integer not null,
  leads_since timestamptz not null default clock_timestamp(),
  leads_until timestamptz not null
);
grant select, insert, update on relay_leader to postroom_ledger;
