-- When beat last ticked for each periodic job. Jobs and guards cannot say so: retention deletes them, and a second beat
-- that ticks in the same window makes neither. Without a row no beat has run here.
create table beat_ticks (
  job_type text primary key,
  ticked_at timestamptz not null
);
grant select, insert on beat_ticks to postroom_ledger;
grant update (ticked_at) on beat_ticks to postroom_ledger;
comment on table beat_ticks is 'When beat last ticked for each periodic job, whether or not the tick made a job.';
