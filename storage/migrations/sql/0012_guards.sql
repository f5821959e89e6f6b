-- The guard of a job stands as long as the job, and for its type's time after the job's end.
alter table idempotency_keys add column kept_after_end interval;
update idempotency_keys k set expires_at = 'infinity', kept_after_end = coalesce(t.keep_key_for, interval '30 days')
from jobs j left join job_types t on t.name = j.job_type
where k.kind = 'job' and k.status in ('pending', 'running') and j.id = k.job_id and j.finished_at is null;

create function postroom.keep_guard() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.expires_at := now() + new.kept_after_end;
  return new;
end
$$;
revoke execute on function postroom.keep_guard() from public;
create trigger idempotency_keys_job_ended before update of status on idempotency_keys for each row
  when (new.kind = 'job' and new.kept_after_end is not null and old.status in ('pending', 'running') and new.status in ('succeeded', 'failed', 'dead')
    and new.job_id = old.job_id)
  execute function postroom.keep_guard();
