-- One row: how far the audit log has been counted, and by whom. Who holds it renews it; a holder that falls silent loses it.
create table counting (
  only_row boolean primary key default true check (only_row),
  -- The newest audit entry that is counted; every older one is.
  counted_to bigint not null default 0,
  -- Every entry that was written before is counted; null until all that is certain has been counted once.
  counted_at timestamptz,
  holder uuid,
  held_at timestamptz
);
call postroom.erasure_rule('counting', org_rows => null);
insert into counting default values;
grant select, update on counting to postroom_ledger;

-- A total per metric and labels (domain/jobs/monitoring/metrics.py). It changes in the transaction that moves `counted_to`, so that each
-- event is counted once, whichever process counts.
create table job_totals (
  metric text not null,
  job_type text not null,
  queue text not null,
  -- The third label's value: an error's class, a cause, a bucket; empty without one.
  label text not null,
  total double precision not null,
  primary key (metric, job_type, queue, label)
) with (fillfactor = 70);
call postroom.erasure_rule('job_totals', org_rows => null);
grant select, insert, update on job_totals to postroom_ledger;

-- How far the log's numbers are given out.
grant select on sequence audit_entries_id_seq to postroom_ledger;
