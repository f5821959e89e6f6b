-- A node saw the process of these jobs die: its lease ends now, so that the rescue need not wait for it.
with ended as (
  update workers w set lease_until = now() - interval '1 second'
  from jobs j
  where j.id = any (%(job_ids)s::uuid[]) and w.id = j.worker_id and w.node_id = %(node_id)s::uuid and w.pid <> %(node_pid)s
  returning w.id
)
update jobs j set attention_at = now() from ended e where j.worker_id = e.id and j.state in ('claimed', 'running')
  and j.id = any (%(job_ids)s::uuid[])
