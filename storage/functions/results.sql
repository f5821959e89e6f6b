-- Results for clients that wait for one.

-- How long a result can be read after its job has ended: as long as the job itself, which retention deletes.
create or replace function postroom.keeps_results_for() returns interval language sql immutable as $$ select interval '7 days' $$;
grant execute on function postroom.keeps_results_for to postroom_ledger;

-- Makes the results of a job due in the transaction that ends it, and wakes the relay.
create or replace function postroom.owe_results() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update public.result_requests r set
    send_at = case when r.is_sent then now() end, keep_until = now() + postroom.keeps_results_for()
  where r.job_id = new.id;
  perform pg_notify('postroom_due', 'result');
  return null;
end
$$;
create or replace trigger jobs_owe_results after update of finished_at on jobs for each row
  when (new.result_wanted and new.finished_at is not null) execute function postroom.owe_results();
