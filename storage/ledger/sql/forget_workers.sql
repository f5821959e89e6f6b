-- Removes processes that have been silent for so long that no job can be theirs.
delete from workers w where lease_until < now() - interval '1 hour'
  and not exists (select from jobs j where j.next_check_at is not null and j.next_check_at <= now() and j.worker_id = w.id)
