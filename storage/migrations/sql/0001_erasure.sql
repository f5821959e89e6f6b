-- What becomes of each table's rows when a person or an org is erased, as the migration that makes the table says
-- (docs: add-an-area.md#erasure). The conditions are SQL; in them `t` is the row, and `the` has the columns org, person, accounts,
-- addresses and ids: the person's mailboxes and addresses, and a pattern of the ids of the person and the mailboxes; patterns and instead: what
-- all marks are found by, and what comes in the place of each.
create table erasure_rules (
  table_name text primary key,
  -- Tables are gone through against this order, so that what refers to a row goes before it.
  number integer not null generated always as identity,
  -- Which rows are an org's. Null: those of none.
  org_rows text,
  -- Columns of them that get another value, as SQL, where the rows stay.
  org_keeps jsonb check (jsonb_typeof(org_keeps) = 'object'),
  -- Which of these rows are a person's, and the same of them. Null: none are.
  person_rows text,
  person_keeps jsonb check (jsonb_typeof(person_keeps) = 'object'),
  -- Columns of bytes that become null where the person stands in them.
  bytes text[] not null
);
call postroom.erasure_rule('erasure_rules', org_rows => null);
grant select on erasure_rules to postroom_ledger;
