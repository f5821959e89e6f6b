-- name: begin_agent_run
-- Begins the run of a job, or finds the one that an earlier attempt has begun. One that ended with its job goes on when the job is tried
-- once more. It keeps the profile that it began with: the conversation so far was held by its rules. The run of a replay may have the answers
-- of the job that it does again. A killed attempt counts the durations of its kept steps.
insert into agent_runs (org_id, account_id, job_id, gmail_thread_id, gmail_message_id, schedule_id, profile, profile_version, profile_id, model)
values (%(org_id)s, %(account_id)s, %(job_id)s, %(thread_id)s, %(message_id)s, %(schedule_id)s, %(profile)s, %(profile_version)s, %(profile_id)s, %(model)s)
on conflict (org_id, job_id) do update set
  started_at = case when agent_runs.status = 'running' then agent_runs.started_at else now() end,
  worked = case
    when agent_runs.status = 'running' then agent_runs.worked + (
      select coalesce(sum(s.at - s.started_at), '0')
      from job_steps s
      where s.job_id = agent_runs.job_id and s.at > agent_runs.worked_until
    )
    else '0'
  end,
  worked_until = now(),
  status = 'running',
  stopped_by = null,
  reason = null,
  finished_at = null
returning
  id as run_id,
  profile_version,
  status,
  worked,
  xmax <> 0 or exists (select from jobs j where j.id = %(job_id)s and j.replay_of is not null) as may_have_answers

-- name: record_agent_work
-- How long the attempts of a run have worked. It never falls.
update agent_runs set worked = greatest(worked, %(worked)s), worked_until = now()
where id = %(run_id)s and status = 'running'
returning id

-- name: list_replayed_jobs
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

-- name: finish_agent_run
-- Ends a run with what it came to and what was said in each turn; the same again changes nothing.
with ended as (
  update agent_runs set status = %(status)s, stopped_by = %(stopped_by)s, reason = %(reason)s, turns = %(turns)s,
    cost_microcents = %(cost)s, refused_calls = %(refused_calls)s, pending_actions = %(pending_actions)s, output_preview = %(preview)s,
    finished_at = now()
  where id = %(run_id)s and status = 'running'
  returning org_id, id
),
told as (
  insert into agent_turns (org_id, run_id, turn, stop_reason, said, calls, cost_microcents)
  select e.org_id, e.id, t.place, t.turn ->> 'stop_reason', t.turn ->> 'said', t.turn -> 'calls', (t.turn ->> 'cost')::bigint
  from ended e, jsonb_array_elements(%(told)s) with ordinality as t (turn, place)
  on conflict do nothing
)
select id from ended

-- name: list_agent_runs
-- Runs of agents after a position, the latest first: of an org, of an account, or of one message.
select id as run_id, org_id, account_id, job_id, gmail_thread_id as thread_id, gmail_message_id as message_id, schedule_id, profile, profile_version,
       model, status, stopped_by, reason, turns, cost_microcents, refused_calls, pending_actions, output_preview, started_at, finished_at
from agent_runs
where (%(org_id)s::uuid is null or org_id = %(org_id)s) and (%(account_id)s::uuid is null or account_id = %(account_id)s)
  and (%(message_id)s::text is null or gmail_message_id = %(message_id)s)
  and (started_at, id) < (coalesce(%(after_started_at)s::timestamptz, 'infinity'), coalesce(%(after_run_id)s::uuid, '00000000-0000-0000-0000-000000000000'))
order by started_at desc, id desc
limit %(limit)s

-- name: list_agent_turns
-- What was said in the turns of a run.
select turn, stop_reason, said, calls, cost_microcents from agent_turns where run_id = %(run_id)s order by turn

-- name: search_messages
-- The newest messages that hold all the words and, where addresses are given, that everybody has seen whom they name: each is one of
-- the message's people. Only the account's last 2,000 messages are looked through, so that the cost is bounded. Nothing of what lies in
-- the trash or in spam.
with recent as (
  select gmail_message_id, gmail_thread_id, direction, received_at, labels, subject, body, document, automation_kind,
         automation_weight, automation_evidence
  from messages
  where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s)
    and gmail_thread_id <> %(but_thread)s and deleted_at is null
  order by received_at desc
  limit 2000
)
select r.gmail_message_id as message_id, r.gmail_thread_id as thread_id, r.direction, r.received_at, r.labels as label_ids, r.subject, r.body,
       r.document, r.automation_kind, r.automation_weight, r.automation_evidence
from recent r
where not exists (select from unnest(%(words)s::text[]) w where position(w in lower((r.subject || ' ' || r.body) collate "pg_c_utf8")) = 0)
  and (%(seen_by)s::text[] = '{}' or r.document -> 'people' ?& %(seen_by)s::text[])
  and not r.labels && '{TRASH,SPAM}'
order by r.received_at desc
limit %(limit)s

-- name: find_mail_unseen_by
-- The first of some messages that not all of these people have sent or received. One that is not stored counts: nobody can tell.
select s.id
from unnest(%(message_ids)s::text[]) as s (id)
left join messages m on m.account_id = %(account_id)s and m.gmail_message_id = s.id
where not coalesce(m.document -> 'people' ?& %(people)s::text[], false)
limit 1
