-- Which cell this ledger is, and which keys open what is sealed in it: whoever moves an org here compares. The migration writes it.
create table this_cell (
  only_row boolean primary key default true check (only_row),
  -- Empty for the only one.
  name text not null check (name ~ '^[a-z0-9-]{0,40}$'),
  sealing_key_ids bytea[] not null
);
call postroom.erasure_rule('this_cell', org_rows => null);
grant select on this_cell to postroom_ledger;

-- Orgs that move between cells (docs/explanation/cells.md). Of an org that has left, this row and its doors are all that stays.
create table org_moves (
  org_id uuid primary key,
  state text not null check (state in ('leaving', 'left', 'arriving', 'arrived')),
  -- Where it goes to, or has come from.
  cell text not null check (cell ~ '^[a-z0-9-]{0,40}$'),
  actor_id text not null,
  since timestamptz not null default clock_timestamp(),
  -- Entries of its audit log that are not newer were counted where it comes from.
  counted_before timestamptz
);
call postroom.erasure_rule('org_moves', org_rows => null);
grant select, insert, update, delete on org_moves to postroom_ledger;

-- By what callers ask for orgs that have left: prefixes of keys; ids of orgs, of people and of files.
create table moved_doors (
  door text not null,
  org_id uuid not null references org_moves (org_id) on delete cascade,
  primary key (door, org_id)
);
create index moved_doors_org on moved_doors (org_id);
call postroom.erasure_rule('moved_doors', org_rows => null);
grant select on moved_doors to postroom_ledger;
