-- Adds to the totals of the metrics, and says how far the audit log is counted now.
with added as (
  insert into job_totals as t (metric, job_type, queue, label, total)
  select * from unnest(%(metrics)s::text[], %(job_types)s::text[], %(queues)s::text[], %(labels)s::text[], %(totals)s::float8[])
  on conflict (metric, job_type, queue, label) do update set total = t.total + excluded.total
)
update counting set counted_to = %(upto)s
