-- What became of a soak's jobs: how many the audit log knows as enqueued and as succeeded, and how many rows are left.
select
  (select count(*) from audit_log where event = 'job.enqueued' and job_type like 'noop_jobs.%'),
  (select count(*) from audit_log where event = 'job.succeeded' and job_type like 'noop_jobs.%'),
  (select count(*) from jobs where job_type like 'noop_jobs.%'),
  (select count(*) from jobs where job_type like 'noop_jobs.%' and finished_at is null)
