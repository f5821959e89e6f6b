-- name: list_jobs
-- Jobs as an operator lists them, the newest first.
select id as job_id, job_type, queue, state, org_id, attempt, max_attempts, priority, created_at, run_at, finished_at,
  coalesce(error ->> 'reason', cancel_reason) as reason
from jobs
where (%(states)s::text[] is null or state = any (%(states)s::text[]))
  and (%(job_type)s::text is null or job_type = %(job_type)s::text)
  and (%(queue)s::text is null or queue = %(queue)s::text)
  and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
order by created_at desc, id desc
limit %(limit)s

-- name: show_job
-- Everything that is known of one job, in one look. Its claim token stays here: whoever has it could write as the holder.
select
  to_jsonb(j) - 'claim_token' || jsonb_build_object('updated_at', postroom.updated_at(j.id)) as job,
  coalesce((select jsonb_agg(jsonb_build_object('at', a.at, 'event', a.event, 'attempt', a.attempt, 'actor_id', a.actor_id,
      'data',
      coalesce(a.data, '{}') || jsonb_strip_nulls(jsonb_build_object(
        'worker', a.worker_id, 'claimed_at', a.claimed_at, 'parent_id', a.parent_id, 'replay_of', a.replay_of))) order by a.id)
    from audit_log a where a.job_id = asked.id), '[]') as events,
  coalesce((select jsonb_agg(jsonb_build_object('name', s.name, 'attempt', s.attempt, 'started_at', s.started_at, 'at', s.at, 'cost_microcents', s.cost_microcents,
      'result', s.result) order by s.at, s.name)
    from job_steps s where s.job_id = asked.id), '[]') as steps,
  coalesce((select jsonb_agg(jsonb_build_object('key', k.key, 'strategy', k.mode, 'status', k.status, 'first_seen_at', k.first_seen_at,
      'last_seen_at', k.last_seen_at, 'result', k.result_ref, 'error', k.error_ref) order by k.first_seen_at, k.key)
    from idempotency_keys k where k.job_id = asked.id and k.kind = 'effect'), '[]') as effects,
  coalesce((select jsonb_agg(jsonb_build_object('job_id', c.id, 'job_type', c.job_type, 'state', c.state) order by c.created_at, c.id)
    from jobs c where c.parent_id = asked.id), '[]') as children,
  (select to_jsonb(d) - '{payload,history}'::text[] from dead_letters d where d.job_id = asked.id) as dead_letter
from (select %(job_id)s::uuid as id) as asked
left join jobs j on j.id = asked.id

-- name: list_refused_messages
-- Messages that could not become jobs, the newest first.
select at, task, task_id, field, reason from refused_messages order by id desc limit %(limit)s
