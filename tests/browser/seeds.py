"""What makes a stand look like a fleet that has run for a week: a history, some kinds of trouble, a run that asks."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from sandbox.demo import set_up
from sandbox.demo.mailbox_story import OWNER
from sandbox.demo.steps import daily_brief
from sandbox.demo.story import ORG
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles
from tests.storage.jobs.audit_log.longer_spans import SPREAD

HISTORY = """
create temporary table kinds (job_type, queue, pace, seconds, microcents) as values
  ('gmail.sync', 'default', 7.0, 0.4, 0), ('gmail.ingest', 'default', 11.0, 0.2, 0),
  ('triage.classify', 'default', 11.0, 1.6, 240000), ('drafts.write', 'default', 2.5, 6.0, 2900000),
  ('actions.execute', 'critical', 1.6, 0.7, 0), ('outbound.send', 'critical', 0.6, 1.1, 0),
  ('notifications.deliver', 'notifications', 2.2, 0.3, 0), ('exports.project_plan', 'exports', 0.2, 9.0, 0),
  ('maintenance.check_invariants', 'maintenance', 0.1, 2.0, 0);
-- More by day than by night, more in some minutes than in others, and half an hour in which Gmail was away.
create temporary view paces as
select job_type, queue, seconds, microcents, at,
  ((hashtext('failing' || job_type || at) & 1023) / 1024.0) as dice,
  round(pace * (0.55 + 0.45 * sin((extract(epoch from at) / 86400 - 0.25) * 2 * pi()))
    * (0.7 + 0.6 * ((hashtext(job_type || at) & 1023) / 1023.0))) as jobs,
  case when job_type like 'gmail.%' and at between now() - interval '170 minutes' and now() - interval '140 minutes'
    then 0.45 else 0.004 end as failing
from kinds, generate_series(date_trunc('hour', now()) - interval '7 days', now() - interval '5 minutes', '1 minute') at;
insert into job_minutes (minute, job_type, queue, enqueued, started, retried, succeeded, failed, dead, canceled, lost,
  seconds, histogram, microcents)
select date_trunc('minute', at), job_type, queue, jobs, jobs + floor(jobs * failing + dice),
  floor(jobs * failing + dice), jobs - floor(jobs * failing / 3 + dice), floor(jobs * failing / 3 + dice),
  floor(jobs * failing / 6 + dice), 0, 0, jobs * seconds,
  array_fill(0, array[least(15, 6 + floor(ln(seconds + 1) * 3)::int)]) || jobs::int
    || array_fill(0, array[16 - least(15, 6 + floor(ln(seconds + 1) * 3)::int)]),
  jobs * microcents
from paces where jobs > 0 and at > now() - interval '2 days' on conflict do nothing;
insert into org_hours
select date_trunc('hour', at), %(org)s::uuid, job_type, sum(jobs), sum(jobs - floor(jobs * failing / 3 + dice)),
  sum(floor(jobs * failing / 3 + dice)), sum(floor(jobs * failing / 6 + dice)), 0,
  sum(jobs * seconds), sum(jobs * microcents)
from paces where jobs > 0 and at < date_trunc('hour', now()) group by 1, 3 on conflict do nothing;
insert into queue_samples (minute, queue, due, backlog, published, parked, held, oldest_due_s)
select date_trunc('minute', at), queue, w / 3, case when queue = 'default' then w else 0 end, w / 2,
  case when at between now() - interval '170 minutes' and now() - interval '140 minutes' then w else 0 end, w / 4,
  w * 0.35
from (select at, queue, (sum(jobs) * (0.4 + 0.8 * ((hashtext(queue || at) & 255) / 255.0)))::int as w
  from paces where at > now() - interval '2 days' group by at, queue) as waits
on conflict do nothing;
insert into failure_groups (fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids, state, note,
  marked_by, marked_at)
values
  ('seed-1', 'gmail.unavailable', 'gmail.ingest', 'Gmail answered 503: the service is currently unavailable',
    now() - interval '170 minutes', now() - interval '141 minutes', 61, array[%(job)s::uuid], 'known',
    'Google has confirmed it: half an hour, over since 09:40', 'operator:operator@postroom.example', now()),
  ('seed-2', 'anthropic.overloaded', 'drafts.write', 'the model answered 529: overloaded', now() - interval '3 days',
    now() - interval '5 hours', 18, array[%(job)s::uuid], 'new', null, null, null)
"""
DOUBT = """
with made as (
  insert into jobs (org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
    request_id, correlation_id, max_attempts, attempt, deadline, state, created_at, run_at, started_at,
    finished_at, error)
  select %(org)s::uuid, 'notifications.send_sms', 'notifications', jsonb_build_object('delivery_id', uuidv7()), 1,
    'sms', false, 'system', 'reminders', 'reminders', 'reminders', 10, 1, interval '1 minute', 'dead', at, at, at,
    at + interval '21 seconds',
    '{"code": "uncertain", "reason": "nobody knows whether Twilio has sent the message: no answer within 20 s"}'
  from (select now() - interval '24 minutes' as at) as once
  returning *
), letter as (
  insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, created_at)
  select org_id, id, job_type, queue, payload, payload_version, error ->> 'reason', error,
    'Look at the message log of Twilio, and say what happened; then replay.', finished_at from made
)
insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, first_seen_at, last_seen_at,
  begun_at, expires_at, error_ref)
select org_id, 'sms:' || (payload ->> 'delivery_id'), 'effect', 'at_most_once', 'unknown', id, uuidv4(), started_at,
  finished_at, started_at, now() + interval '30 days', error from made
"""


def seed(stand: Stand, found: Troubles) -> dict[str, str]:
    """Fill the stand; the ids of what pages show: the run that asks, and a bulk action."""
    for statement in f"{HISTORY};\n{SPREAD}".split(";\n"):
        stand.database.execute(statement, {"org": stand.org_id, "job": found.job_id} if "%(" in statement else None)
    stand.database.execute(DOUBT, {"org": stand.org_id})
    for name, cron, job_type in (
        ("mailbox in the morning", "30 7 * * mon-fri", "gmail.sync"),
        ("labels at night", "15 2 * * *", "gmail.sync_labels"),
    ):
        stand.door.post(
            "/v1/schedules",
            {
                "name": name,
                "job_type": job_type,
                "cron": cron,
                "zone": "Europe/Berlin",
                "payload": {"account_id": stand.account_id},
            },
        )
    bulk = {"verb": "replay", "error_code": found.code, "reason": "Gmail answers again", "per_minute": 1_200}
    bulk_id = str(stand.door.post("/v1/bulk-actions", bulk)["bulk_id"])
    stand.wait("a bulk action to begin", "select done > 0 from bulk_actions where id = %s", UUID(bulk_id))
    run_id = _run_that_asks(stand)
    stand.wait(
        "the counter to measure", "select count(*) > 6 from queue_samples where minute > now() - interval '2 min'"
    )
    return {"run_id": run_id, "bulk_id": bulk_id}


def _run_that_asks(stand: Stand) -> str:
    """A run of the demo's workflow, at its question, which has an agent and may send."""
    set_up.choose_sender(stand.fleet, org=ORG)
    set_up.save_workflow(stand.fleet, org=ORG)
    stand.fleet.celery("accounts", "set", OWNER, "--agent-enabled")
    user_id = str(stand.ask("select user_id from accounts"))
    at = (datetime.now(UTC) + timedelta(hours=8)).isoformat()
    reminder = stand.door.post("/v1/reminders", {"user_id": user_id, "title": daily_brief.WORDS, "at": at})
    given = {
        "account_id": stand.account_id,
        "readers": [OWNER],
        "reminder_id": reminder["reminder_id"],
        "remind_at": at,
        "user_id": user_id,
    }
    run_id = str(stand.door.post("/v1/workflows/runs", {"workflow": daily_brief.WORKFLOW, "input": given})["run_id"])
    asked = "select state = 'waiting' from workflow_nodes where run_id = %s and node = 'approve' and item = -1"
    stand.wait("the run to ask", asked, UUID(run_id))
    return run_id
