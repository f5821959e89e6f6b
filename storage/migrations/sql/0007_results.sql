-- Results for clients of Celery that wait for one: who asked, and when to send it. docs/howto/hand-over-work.md#results describes them.

-- Set for the few jobs whose sender wants the result, so that the end of all others pays for a look at this column and for no more.
alter table jobs add column result_wanted boolean not null default false;

-- One row per client that waits for a job, or for a message that was refused and has no job. The relay sends what is due.
create table result_requests (
  id bigint generated always as identity primary key,
  task_id text not null check (length(task_id) between 1 and 200),
  job_id uuid,
  -- Of a message that was refused: its field and the reason.
  refusal jsonb,
  reply_to uuid,
  correlation_id text not null check (length(correlation_id) between 1 and 200),
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
);
create unique index result_requests_job on result_requests (job_id, task_id) where job_id is not null;
create index result_requests_task on result_requests (task_id);
create index result_requests_due on result_requests (send_at) where send_at is not null;
create index result_requests_kept on result_requests (keep_until) where keep_until is not null;
grant select, insert, update, delete on result_requests to postroom_ledger;

-- How long a result can be read after its job has ended: as long as the job itself, which retention deletes.
create function postroom.keeps_results_for() returns interval language sql immutable as $$ select interval '7 days' $$;
grant execute on function postroom.keeps_results_for() to postroom_ledger;

-- Makes the results of a job due in the transaction that ends it, and wakes the relay.
create function postroom.owe_results() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update public.result_requests r set
    send_at = case when r.is_sent then now() end, keep_until = now() + postroom.keeps_results_for()
  where r.job_id = new.id;
  perform pg_notify('postroom_due', 'result');
  return null;
end
$$;
create trigger jobs_owe_results after update of finished_at on jobs for each row
  when (new.result_wanted and new.finished_at is not null) execute function postroom.owe_results();
