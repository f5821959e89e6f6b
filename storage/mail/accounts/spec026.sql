-- name: find_spec026_tables
-- Which of the old tables are here; columns that the adoption reads and the jobs' table lacks.
select to_regclass('public.email_processing_jobs') is not null as has_jobs, to_regclass('public.email_digest_batches') is not null as has_digests,
  array(
    select w.name from unnest(array['id', 'user_id', 'connection_id', 'status', 'result_summary', 'error_message', 'created_at', 'started_at',
      'completed_at', 'updated_at']) as w (name)
    where not exists (
      select from pg_attribute a
      where a.attrelid = to_regclass('public.email_processing_jobs') and a.attname = w.name and not a.attisdropped)) as missing

-- name: has_spec026_digests
-- Whether the table that nothing is made of has rows.
select exists (select from public.email_digest_batches) as has_rows

-- name: find_spec026_strangers
-- Users whose connections have become no mailbox here, each with one of them; and how many users there are.
select e.user_id::text as user_id, min(e.connection_id::text) as connection_id, count(*) over () as users
from public.email_processing_jobs e
join adopted_connections c on c.connection_id = e.connection_id::text
where c.account_id is null
group by e.user_id
order by e.user_id limit %(most)s

-- name: find_spec026_faults
-- Rows that cannot become jobs: the field and the reason. What the ledger would refuse of a payload is refused here with the row's id.
select id, fault
from (
  select e.id, case
    when e.id is null then 'id: is missing'
    when (select j.id from public.jobs j where j.id = e.id) is not null then 'id: is a job''s of the ledger already'
    when e.connection_id is null then 'connection_id: is missing'
    when e.status::text in ('pending', 'processing', 'complete', 'failed') is not true
      then 'status: is none of pending, processing, complete and failed'
    when jsonb_typeof(s.summary) <> 'object' then 'result_summary: is no JSON object'
    when octet_length(s.summary::text) > 262000 then 'result_summary: has more than 262000 bytes'
    when jsonb_path_exists(s.summary, 'strict $.**{64}') then 'result_summary: nests more than 63 levels deep'
    when postroom.carries_secret(s.summary) is not null
      then format('result_summary.%%s: must not carry a secret', postroom.carries_secret(s.summary))
    else (
      select t.name || ': ' || case when t.at is null then 'is missing' else 'is no time of the years 1 to 9999' end
      from (values ('created_at', e.created_at::timestamptz), ('started_at', coalesce(e.started_at, e.created_at)),
        ('completed_at', coalesce(e.completed_at, e.created_at)), ('updated_at', coalesce(e.updated_at, e.created_at))) as t (name, at)
      where (t.at > '0001-01-02 00:00+00' and t.at < '9999-12-30 00:00+00') is not true
      limit 1)
    end as fault
  from public.email_processing_jobs e
  cross join lateral (select coalesce(e.result_summary::jsonb, '{}') as summary) as s
) as looked
where fault is not null
limit %(most)s

-- name: add_silent_worker
-- A process that has never been: its lease is over, so that the rescue takes the jobs that it holds.
insert into workers (id, node_id, hostname, pid, lease_until) values (%(worker_id)s, %(worker_id)s, 'adopt-spec026', 0, now() - interval '1 second')

-- name: adopt_spec026_jobs
-- Makes jobs of the next rows by their ids. Each has its own id as its key, so that none folds into another. Of several rows of one
-- mailbox that are 'processing' one holds its concurrency key and runs, unless a job of the fleet does; the others are written as the
-- rescue leaves a job. The audit log gets each step with its own time.
with kind as (
  select * from job_types where 'email_processing' = any (aliases)
),
next_rows as materialized (
  select e.id, e.status::text as status, coalesce(e.result_summary::jsonb, '{}') as summary, e.error_message::text as words,
    e.created_at::timestamptz as created_at, coalesce(e.started_at, e.created_at)::timestamptz as began_at,
    coalesce(e.completed_at, e.updated_at, e.started_at, e.created_at)::timestamptz as ended_at, c.org_id, c.account_id
  from (
    select * from public.email_processing_jobs where %(after)s::uuid is null or id > %(after)s::uuid order by id limit %(batch)s
  ) as e
  join adopted_connections c on c.connection_id = e.connection_id::text
),
keyed as materialized (
  select r.*, k.name || ':' || r.org_id || ':' || r.account_id as serial_key from next_rows r, kind k
),
slots as (
  insert into serial_slots (serial_key, slot, job_id)
  select distinct on (serial_key) serial_key, 1, id from keyed where status = 'processing' order by serial_key, id
  on conflict do nothing
  returning job_id
),
placed as materialized (
  select r.*, case
      when r.status = 'pending' then 'queued' when r.status = 'complete' then 'succeeded' when r.status = 'failed' then 'failed'
      when s.job_id is not null then 'running' else 'rescued' end as place,
    case when r.status = 'failed' or r.words is not null then jsonb_build_object('code', 'adopted', 'reason', case
        when r.words is null then 'the old row has no reason' when postroom.looks_secret(r.words) then '[redacted]' else left(r.words, 2000) end,
      'attempt', 1, 'at', r.ended_at) end as error
  from keyed r left join slots s on s.job_id = r.id
),
made as (
  insert into jobs (id, org_id, job_type, queue, state, payload, payload_version, idempotency_key, guarded, serial_key, actor_type, actor_id,
    request_id, correlation_id, attempt, max_attempts, free_returns, suspect, deadline, created_at, run_at, next_check_at, backlog_since,
    claim_token, worker_id, claimed_at, started_at, finished_at, output, error)
  select p.id, p.org_id, k.name, k.queue, case p.place when 'rescued' then 'queued' else p.place end,
    jsonb_build_object('account_id', p.account_id) || case when p.summary = '{}' then '{}' else jsonb_build_object('result_summary', p.summary) end, 1, p.id::text, false, p.serial_key,
    'system', 'adopt-spec026', p.id::text, p.id::text, (p.place in ('running', 'succeeded', 'failed'))::int, k.max_attempts,
    (p.place = 'rescued')::int, p.place = 'rescued', k.deadline, p.created_at, p.created_at, case when p.place = 'running' then now() end,
    case when p.place in ('queued', 'rescued') then least(p.created_at, now()) end,
    case when p.place = 'running' then gen_random_uuid() end, case when p.place = 'running' then %(worker_id)s::uuid end,
    case when p.place = 'running' then p.began_at end, case when p.place <> 'queued' then p.began_at end,
    case when p.place in ('succeeded', 'failed') then p.ended_at end, case when p.place = 'succeeded' then '{}'::jsonb end, p.error
  from placed p, kind k
),
audited as (
  insert into audit_entries (at, event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, worker_id,
    claimed_at, data)
  select e.at, e.event, p.org_id, 'system', 'adopt-spec026', p.id::text, p.id::text, p.id, k.name, e.attempt,
    case when p.place = 'running' and e.event = 'job.started' then %(worker_id)s::uuid end,
    case when e.event = 'job.started' then p.began_at end, e.data
  from placed p cross join kind k
  cross join lateral (values
    (1, 'job.enqueued', p.created_at, 0, null::jsonb),
    (2, 'job.started', case when p.place <> 'queued' then p.began_at end, 1, null),
    (3, 'job.succeeded', case when p.place = 'succeeded' then p.ended_at end, 1, null),
    (3, 'job.failed', case when p.place = 'failed' then p.ended_at end, 1, jsonb_build_object('error', p.error)),
    (3, 'job.retried', case when p.place = 'rescued' then now() end, 0, '{"cause": "lost", "losses": 0}'::jsonb)
  ) as e (step, event, at, attempt, data)
  where e.at is not null
  order by p.id, e.step
)
select (select id from placed order by id desc limit 1) as last_id, count(*) as adopted, count(*) filter (where place = 'queued') as pending,
  count(*) filter (where place in ('running', 'rescued')) as processing, count(*) filter (where place = 'succeeded') as complete,
  count(*) filter (where place = 'failed') as failed
from placed

-- name: drop_spec026_tables
-- Nothing of the old tables stays, nor of the one that mapped them.
drop table if exists public.email_processing_jobs, public.email_processing_accounts, public.email_digest_batches;
select pg_notify('postroom_due', '')
