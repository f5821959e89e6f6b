-- A job, and those that it does again: the one that it replays, the one that was replayed by that, and so on.
with recursive chain as (
  select id, replay_of from jobs where id = %(job_id)s
  union
  select j.id, j.replay_of from jobs j join chain c on j.id = c.replay_of
)
select id as job_id from chain
union
select replay_of from chain where replay_of is not null
