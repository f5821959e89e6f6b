-- Runs of agents, the latest first: of an org, of an account, or of one message.
select id as run_id, org_id, account_id, job_id, gmail_thread_id as thread_id, gmail_message_id as message_id, profile, profile_version, model,
       status, stopped_by, reason, turns, cost_microcents, refused_calls, pending_actions, output_preview, started_at, finished_at
from agent_runs
where (%(org_id)s::uuid is null or org_id = %(org_id)s) and (%(account_id)s::uuid is null or account_id = %(account_id)s)
  and (%(message_id)s::text is null or gmail_message_id = %(message_id)s)
order by started_at desc, id desc
limit %(limit)s
