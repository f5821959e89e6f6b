-- Notes that beat ticked for a periodic job just now.
insert into beat_ticks as t (job_type, ticked_at) values (%(job_type)s, clock_timestamp())
on conflict (job_type) do update set ticked_at = greatest(t.ticked_at, excluded.ticked_at)
