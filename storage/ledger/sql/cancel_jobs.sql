-- Asks for jobs to be canceled: a queued one is at once, a running one sees the request at its next step, effect or heartbeat.
with asked as (
  select id from jobs where id = any (%(job_ids)s::uuid[]) and finished_at is null
    and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
  order by id for update
),
moved as (
  update jobs j set
    cancel_requested_at = coalesce(j.cancel_requested_at, now()), cancel_reason = coalesce(j.cancel_reason, %(reason)s),
    -- By the row as it is when its turn has come: it may have been claimed while this statement waited for others.
    state = case j.state when 'queued' then 'canceled' else j.state end,
    finished_at = case j.state when 'queued' then now() end,
    attention_at = case j.state when 'queued' then null else j.attention_at end, backlog_since = null, parked_by = null
  from asked a where j.id = a.id and j.finished_at is null
  returning j.*
),
guards as (
  update idempotency_keys k set status = 'failed', last_seen_at = now() from moved m
  where m.state = 'canceled' and m.guarded and k.org_id = m.org_id and k.key = m.idempotency_key and k.job_id = m.id
),
told as (
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, data)
  select case state when 'canceled' then 'job.canceled' else 'job.cancel_requested' end,
    org_id, project_id, %(actor_type)s, %(actor_id)s, request_id, correlation_id, id, job_type, attempt,
    jsonb_build_object('reason', %(reason)s::text)
  from moved
)
select m.id, m.state, instead.called from moved m
-- It may have been called for its key: then another one must be.
left join lateral (
  select postroom.call_waiters(array[m.serial_key], %(job_ids)s::uuid[]) as called
  where m.serial_key is not null and m.state = 'canceled'
) as instead on true
