-- One row per client that waits for a job, or for a message that was refused and has no job. The relay sends what is due
-- (docs/howto/hand-over-work.md#results).
create table result_requests (
  id bigint generated always as identity primary key,
  task_id text not null check (length(task_id) between 1 and 200),
  job_id uuid,
  -- Of a message that was refused: its field and the reason.
  refusal jsonb,
  asked_at timestamptz not null default now(),
  -- Whether the relay sends it; else it is only read, by the task id, with the ledger's own result backend.
  is_sent boolean not null,
  send_at timestamptz,
  tries smallint not null default 0,
  sent_at timestamptz,
  -- NULL while the job has not ended.
  keep_until timestamptz,
  constraint of_a_job_or_refused check (num_nonnulls(job_id, refusal) = 1),
  constraint kept_when_sent check (send_at is null or keep_until is not null)
) with (autovacuum_vacuum_scale_factor = 0.05, vacuum_truncate = false);
create unique index result_requests_job on result_requests (job_id, task_id) where job_id is not null;
create index result_requests_task on result_requests (task_id);
create index result_requests_due on result_requests (send_at) where send_at is not null;
create index result_requests_kept on result_requests (keep_until) where keep_until is not null;
call postroom.erasure_rule('result_requests',
  org_rows => 'exists (select from jobs j where j.id = job_id and j.org_id = the.org)',
  person_rows => 'exists (select from jobs j where j.id = job_id and (j.payload::text ~* the.ids or j.actor_id ~* the.ids))');
grant select, insert, update, delete on result_requests to postroom_ledger;
