-- Whether a node has jobs under way.
select exists (
  select from jobs j
  where j.worker_id = any (select id from workers where node_id = %(node_id)s::uuid)
    and j.attention_at <= now() + %(lease)s::interval + interval '2 seconds'
    and j.state in ('claimed', 'running')
) as holds
