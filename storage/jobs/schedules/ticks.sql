-- name: note_tick
-- Notes that beat ticked for a periodic job just now.
insert into beat_ticks as t (job_type, ticked_at) values (%(job_type)s, clock_timestamp())
on conflict (job_type) do update set ticked_at = greatest(t.ticked_at, excluded.ticked_at)

-- name: list_ticks
-- When beat last ticked for each periodic job, and whether a person's gate keeps that job from running now.
select t.job_type, t.ticked_at, clock_timestamp() as now, exists (
  select from closed_gates g
  where g.cause = 'pause' and (g.scope = 'fleet' or (g.scope, g.key) in (('queue', j.queue), ('job_type', t.job_type)))
) as paused
from beat_ticks t left join job_types j on j.name = t.job_type
