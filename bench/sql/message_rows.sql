-- The rows that the second mail mix writes: one for each job that it runs.
create table message_rows (
  org_id uuid not null,
  account_id uuid not null,
  message integer not null,
  step text not null,
  primary key (org_id, account_id, message, step)
);
