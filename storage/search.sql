-- name: search
-- What has an id, of any kind: each branch is a look-up by a unique or an indexed key, and ends after few rows. The transaction sees its own
-- org's rows; a key that is unique within an org is looked for in `org_id` alone. What a mail or a payload says is not shown.
with known as (
  select id, org_id, job_type, state, correlation_id, created_at from jobs where id = %(id)s
),
-- A Gmail id is a mailbox's own, and looked for in each mailbox of `org_id`: an index of Gmail's ids alone would be taken for the primary
-- key by statements on the way of every message. A Message-ID is the same in each mailbox that got the mail.
mails as materialized (
  (select m.org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at
   from accounts a join messages m on m.org_id = a.org_id and m.account_id = a.id and gmail_message_id = %(text)s
   where a.org_id = %(org_id)s limit %(most)s)
  union
  (select org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at from messages
   where rfc_message_id in (%(text)s, '<' || %(text)s || '>') limit %(most)s)
),
-- Mail that we have sent, also before a sync brings it back.
outgoing as materialized (
  (select org_id, account_id, action_id, sent_message_id, sent_thread_id, sent_at from outgoing_mails
   where sent_message_id = %(text)s and org_id = %(org_id)s limit %(most)s)
  union
  (select org_id, account_id, action_id, sent_message_id, sent_thread_id, sent_at from outgoing_mails
   where rfc_message_id in (%(text)s, '<' || %(text)s || '>') limit %(most)s)
),
correspondence as materialized (
  (select t.org_id, account_id, gmail_thread_id
   from accounts a join threads t on t.org_id = a.org_id and t.account_id = a.id and gmail_thread_id = %(text)s
   where a.org_id = %(org_id)s limit %(most)s)
  union
  select org_id, account_id, gmail_thread_id from mails
),
-- Of the jobs that a request caused, by the index of the audit log; a job without another name is its own request. In the index's order: by
-- an equality, the planner would read the log from its begin where few requests have caused most jobs.
caused as materialized (
  select job_id, org_id, job_type, at from audit_entries
  where correlation_id >= %(text)s and correlation_id <= %(text)s and event = 'job.enqueued' and correlation_id <> job_id::text
  order by correlation_id limit %(most)s
)
select f.kind, f.id, f.org_id, f.said, f.at, f.ids from (
  select 'job' as kind, id::text as id, org_id, job_type || ', ' || state as said, created_at as at,
    jsonb_build_object('correlation_id', correlation_id) as ids from known
  union all
  (select 'job', job_id::text, org_id, job_type || ', past its retention', at, '{}' from audit_entries
   where job_id = %(id)s and job_type is not null and not exists (select from known) limit 1)
  union all
  select 'job', job_id::text, org_id, job_type || ', caused by the request', at, '{}' from caused
  union all
  (select 'correlation', %(text)s, org_id, 'a request that caused jobs', at, '{}' from caused limit 1)
  union all
  select 'dead_letter', id::text, org_id, job_type || ', ' || state, created_at, jsonb_build_object('job_id', job_id)
  from dead_letters where id = %(id)s or job_id = %(id)s
  union all
  select 'action', id::text, org_id, kind || ', ' || state, created_at,
    jsonb_build_object('job_id', job_id, 'account_id', account_id, 'gmail_message_id', gmail_message_id)
  from actions where id = %(id)s
  union all
  select 'approval', approval_id::text, org_id, 'node ' || node || ', ' || state, started_at, jsonb_build_object('run_id', run_id)
  from workflow_nodes where approval_id = %(id)s
  union all
  select 'approval', approval_id::text, org_id, 'asked by the message on Discord', posted_at,
    jsonb_build_object('run_id', run_id, 'account_id', account_id)
  from approval_notices where message_id = %(text)s
  union all
  select 'workflow_run', id::text, org_id, workflow || ', ' || state, created_at, jsonb_build_object('root_run', root_run)
  from workflow_runs where id = %(id)s
  union all
  (select 'workflow_run', run_id::text, org_id, 'gave the job to its node ' || node, started_at, jsonb_build_object('node', node)
   from workflow_nodes where job_id = %(id)s limit %(most)s)
  union all
  select 'agent_run', id::text, org_id, 'by ' || model || ', ' || status, started_at,
    jsonb_build_object('job_id', job_id, 'account_id', account_id, 'gmail_message_id', gmail_message_id) from agent_runs where id = %(id)s
  union all
  select 'correspondence', id::text, org_id, state, created_at,
    jsonb_build_object('account_id', account_id, 'gmail_thread_id', gmail_thread_id, 'draft_id', draft_id) from emails where id = %(id)s
  union all
  (select 'correspondence', id::text, org_id, state || ', of the draft', created_at,
     jsonb_build_object('account_id', account_id, 'gmail_thread_id', gmail_thread_id, 'draft_id', draft_id)
   from emails where draft_id = %(text)s limit %(most)s)
  union all
  (select 'correspondence', e.id::text, e.org_id, e.state || ', of the message of the draft', e.created_at,
     jsonb_build_object('account_id', e.account_id, 'gmail_thread_id', e.gmail_thread_id, 'draft_id', e.draft_id)
   from accounts a join emails e on e.org_id = a.org_id and e.account_id = a.id and e.draft_message_id = %(text)s
   where a.org_id = %(org_id)s limit %(most)s)
  union all
  select 'correspondence', e.id::text, e.org_id, e.state, e.created_at,
    jsonb_build_object('account_id', e.account_id, 'gmail_thread_id', e.gmail_thread_id, 'draft_id', e.draft_id)
  from correspondence c join emails e using (org_id, account_id, gmail_thread_id)
  union all
  select 'message', gmail_message_id, org_id, direction, received_at,
    jsonb_build_object('account_id', account_id, 'gmail_thread_id', gmail_thread_id) from mails
  union all
  select 'thread', t.gmail_thread_id, t.org_id, 'as far as the mailbox was read', t.last_message_at, jsonb_build_object('account_id', t.account_id)
  from correspondence c join threads t using (org_id, account_id, gmail_thread_id)
  union all
  select 'decision', d.id::text, d.org_id, d.classification || ', ' || d.source, d.at,
    jsonb_build_object('job_id', d.job_id, 'account_id', d.account_id, 'gmail_message_id', d.gmail_message_id)
  from decisions d where d.id = %(id)s
  union all
  select 'decision', d.id::text, d.org_id, d.classification || ', ' || d.source, d.at,
    jsonb_build_object('job_id', d.job_id, 'account_id', d.account_id, 'gmail_message_id', d.gmail_message_id)
  from mails m cross join lateral (
    select * from decisions where org_id = m.org_id and account_id = m.account_id and gmail_message_id = m.gmail_message_id
    order by at desc limit %(most)s
  ) as d
  union all
  select 'action', a.id::text, a.org_id, a.kind || ', ' || a.state, a.created_at,
    jsonb_build_object('job_id', a.job_id, 'account_id', a.account_id, 'gmail_message_id', a.gmail_message_id)
  from mails m cross join lateral (
    select * from actions where org_id = m.org_id and account_id = m.account_id and gmail_message_id = m.gmail_message_id limit %(most)s
  ) as a
  union all
  select 'action', action_id::text, org_id, 'sent the mail', sent_at,
    jsonb_build_object('account_id', account_id, 'gmail_message_id', sent_message_id, 'gmail_thread_id', sent_thread_id) from outgoing
  union all
  select 'account', id::text, org_id, email || ', ' || status, created_at, '{}' from accounts where id = %(id)s
  union all
  (select 'account', id::text, org_id, email || ', ' || status, created_at, '{}' from accounts where email = lower(%(text)s collate "pg_c_utf8") limit %(most)s)
  union all
  select 'user', id::text, org_id, role, created_at, '{}' from users where id = %(id)s
  union all
  select 'user', id::text, org_id, role, created_at, '{}' from users where org_id = %(org_id)s and email = lower(%(text)s collate "pg_c_utf8")
  union all
  select 'org', id::text, id, name, created_at, '{}' from orgs where id = %(id)s
  union all
  select 'project', id::text, org_id, name, created_at, '{}' from projects where id = %(id)s
  union all
  select 'run_sheet', id::text, org_id, 'a run sheet', created_at, jsonb_build_object('project_id', project_id) from run_sheets where id = %(id)s
  union all
  select 'proposal', id::text, org_id, 'a proposal', created_at, jsonb_build_object('job_id', job_id, 'project_id', project_id)
  from proposals where id = %(id)s
  union all
  select 'artifact', id::text, org_id, kind || ', ' || state, created_at, jsonb_build_object('job_id', job_id, 'project_id', project_id)
  from artifacts where id = %(id)s
  union all
  select 'backfill', id::text, org_id, state, started_at, jsonb_build_object('job_id', job_id, 'account_id', account_id)
  from backfills where id = %(id)s
  union all
  select 'rule', id::text, org_id, kind, created_at, jsonb_build_object('account_id', account_id) from rules where id = %(id)s
  union all
  select 'schedule', id::text, org_id, name, created_at, '{}' from schedules where id = %(id)s
  union all
  select 'notification', id::text, org_id, template, asked_at, jsonb_build_object('user_id', user_id) from notifications where id = %(id)s
  union all
  select 'notification', coalesce(notification_id, digest_id)::text, org_id, channel || ', ' || state, changed_at,
    jsonb_build_object('delivery_id', id, 'user_id', user_id, 'digest_id', digest_id)
  from deliveries where id = %(id)s or (org_id = %(org_id)s and provider_id = %(text)s)
  union all
  select 'reminder', id::text, org_id, state, created_at, jsonb_build_object('user_id', user_id) from reminders where id = %(id)s
  union all
  select 'email_order', id::text, org_id, state, created_at, jsonb_build_object('provider_id', provider_id) from email_orders where id = %(id)s
  union all
  select case kind when 'effect' then 'effect' else 'idempotency_key' end, key, org_id, mode || ', ' || status, last_seen_at,
    jsonb_build_object('job_id', job_id)
  from idempotency_keys where org_id = %(org_id)s and key = %(text)s
  union all
  select 'idempotency_key', key, org_id, 'of a request to the API', created_at, jsonb_build_object('made', made[1]) from api_requests
  where org_id = %(org_id)s and key = %(text)s
) as f
order by f.at desc nulls last, f.kind, f.id
limit %(shown)s
