-- A job, and those that it does again: the one that it replays, the one that was replayed by that, and so on. Of one that is past its
-- retention the audit log knows what it replayed.
with recursive chain (job_id) as (
  select %(job_id)s::uuid
  union
  select before.replay_of
  from chain c cross join lateral (
    select coalesce(
      (select j.replay_of from jobs j where j.id = c.job_id),
      (select a.replay_of from audit_log a where a.job_id = c.job_id and a.event = 'job.enqueued' order by a.replay_of limit 1)
    ) as replay_of
  ) as before
  where before.replay_of is not null
)
select job_id from chain
