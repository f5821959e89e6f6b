"""Housekeeping: fan-out over the fleet's accounts, alarms, and what is thrown away when its time is over."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.job import SYSTEM_ORG, Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retention import RUN
from domain.jobs.retry import STANDARD
from domain.mail.onboarding import ONBOARDED_WITHIN
from domain.payloads import payload_types
from domain.payloads.maintenance import FallbackSyncPayload, FullSyncPayload
from engine.beat import tick
from engine.catalogue import catalogue
from storage.jobs import ledger
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.postgres.retention import BATCH
from tests.doubles.audit_entries import add_entries, count_all, export_all
from tests.doubles.end_hooks import hook_calls, make_hook, repair_hook
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_project, pass_time
from tests.doubles.mail_environment import MailEnvironment, connect

NOW = datetime(2026, 6, 1, 12, 7, tzinfo=UTC)


def keep_house(env: MailEnvironment, name: str, org_id: UUID = SYSTEM_ORG) -> dict[str, Any]:
    """Run one kind of housekeeping to its end, as an org."""
    with env.process.database.ledger() as tx:
        rows = tx.raw("select postroom.enqueue(%(type)s, %(org)s)", {"type": name, "org": org_id})
    job_id = UUID(str(rows[0][0]))
    env.run(job_id)
    return env.job(job_id)


def add_finished_jobs(env: MailEnvironment, number: int, *, foreign: bool = False) -> None:
    """Jobs that ended eight days ago; foreign ones have the ids of a client of Celery."""
    made = (
        "overlay(gen_random_uuid()::text placing 'f' from 1 for 1)::uuid" if foreign else "uuidv7(interval '-8 days')"
    )
    env.database.execute(
        "insert into jobs (id, org_id, job_type, queue, state, payload, payload_version, idempotency_key, guarded,"
        " actor_type, actor_id, request_id, correlation_id, attempt, max_attempts, deadline, created_at, finished_at)"
        f" select {made}, %s, 'gmail.sync', 'default', 'succeeded', '{{}}', 1, 'old ' || n, false,"
        " 'system', 'test', 'old', 'old', 1, 5, interval '5 minutes', now() - interval '8 days',"
        " now() - interval '8 days'"
        " from generate_series(1, %s) as n",
        (env.account.org_id, number),
    )


def more_accounts(env: MailEnvironment) -> list[Account]:
    """The environment's own account, one more that is active, one that waits for consent, one that is gone."""
    made = [connect(env.process, f"{name}@postroom.example", "a", "r") for name in ("second", "parked", "gone")]
    with env.process.database.ledger() as tx:
        accounts.mark_needs_reconsent(tx, made[1].account_id, version=made[1].token_version, reason="for the test")
        accounts.disconnect(tx, made[2].account_id, "by its owner")
    return [env.account, *made]


def leap(env: MailEnvironment) -> None:
    """Let a run's time pass whenever the process looks at its clock."""
    clock, looks = env.process.clock, count()
    env.process.clock = lambda: clock() + next(looks) * RUN


@pytest.mark.parametrize(
    ("name", "job_type", "payload"),
    [
        ("maintenance.fallback_sync", "gmail.sync", {"reason": "fallback"}),
        ("maintenance.full_sync", "gmail.sync", {"reason": "full", "force_full": True}),
        ("maintenance.renew_watches", "gmail.renew_watch", {}),
        ("maintenance.sync_labels", "gmail.sync_labels", {}),
    ],
)
def test_one_job_per_active_account(env: MailEnvironment, name: str, job_type: str, payload: dict[str, object]) -> None:
    active = more_accounts(env)[:2]
    assert keep_house(env, name)["output"] == {"accounts": 2, "enqueued": 2}
    query = "select payload, org_id, payload_version from jobs where job_type = %s"
    rows = env.database.execute(query, (job_type,)).fetchall()
    assert sorted(row[0]["account_id"] for row in rows) == sorted(str(one.account_id) for one in active)
    assert {row[1] for row in rows} == {env.account.org_id}
    assert all(row[0].items() >= payload.items() for row in rows)
    known = payload_types.find(job_type)
    assert known is not None
    assert [row[0] for row in rows] == [known.read(row[0], row[2]).document() for row in rows], "every field, as stored"
    assert keep_house(env, name)["output"] == {"accounts": 2, "enqueued": 0}, "they are queued already"


@pytest.mark.parametrize(
    "name",
    [
        "maintenance.fallback_sync",
        "maintenance.full_sync",
        "maintenance.renew_watches",
        "maintenance.sync_labels",
        "maintenance.check_watches",
        "maintenance.delete_finished_jobs",
        "maintenance.purge_expired_keys",
    ],
)
def test_no_tenant_may_keep_the_fleets_house(env: MailEnvironment, name: str) -> None:
    job = keep_house(env, name, env.account.org_id)
    assert job["state"] == "failed"
    assert job["error"]["code"] == "forbidden"
    assert env.count("select count(*) from jobs where job_type not like 'maintenance.%%'") == 0


def test_a_window_has_one_tick(env: MailEnvironment) -> None:
    every = timedelta(minutes=15)
    assert tick(FallbackSyncPayload(), every, NOW)
    assert not tick(FallbackSyncPayload(), every, NOW + timedelta(minutes=5))
    env.drain()
    assert not tick(FallbackSyncPayload(), every, NOW + timedelta(minutes=7)), "also when its job is done"
    assert tick(FallbackSyncPayload(), every, NOW + timedelta(minutes=10))
    assert tick(FullSyncPayload(), every, NOW)


def pass_onboarding(env: MailEnvironment) -> None:
    """The mailboxes were connected so long ago that their onboarding has ended."""
    env.database.execute("update accounts set status_changed_at = now() - %s", (ONBOARDED_WITHIN,))


def test_an_onboarding_may_take_its_attempts_its_waits_and_its_queue_s_time() -> None:
    found = catalogue.find("accounts.onboard")
    assert found is not None
    waits = sum((found.retry.delay(attempt, 1.0) for attempt in range(1, found.retry.attempts)), timedelta())
    queue_may_wait = timedelta(seconds=300)  # the objective of `default` in docs/howto/watch-the-fleet.md
    most = found.retry.attempts * found.deadline + waits + queue_may_wait
    assert most <= ONBOARDED_WITHIN < most + timedelta(minutes=5)


def test_an_account_whose_watch_was_not_renewed_raises_the_alarm(env: MailEnvironment) -> None:
    second = more_accounts(env)[1]
    assert keep_house(env, "maintenance.check_watches")["output"] == {"lapsed": 0}, "they are being set up"
    pass_onboarding(env)
    assert keep_house(env, "maintenance.check_watches")["output"] == {"lapsed": 2}
    env.run(env.enqueue("gmail.renew_watch"))
    assert keep_house(env, "maintenance.check_watches")["output"] == {"lapsed": 1}
    row = env.database.execute("select data from audit_log where event = 'watch.lapsed' order by id desc").fetchone()
    assert row is not None
    assert row[0] == {"account_id": str(second.account_id)}
    env.database.execute("update accounts set watch_renewed_at = watch_renewed_at - interval '25 hours'")
    assert keep_house(env, "maintenance.check_watches")["output"] == {"lapsed": 2}


def test_an_alarm_is_raised_with_the_end_of_its_job(env: MailEnvironment) -> None:
    """Else an attempt that dies in between raises it a second time."""
    pass_onboarding(env)
    job_id = keep_house(env, "maintenance.check_watches")["id"]
    query = "select count(distinct xmin::text), count(*) from audit_entries where job_id = %s and event = any(%s)"
    row = env.database.execute(query, (job_id, ["watch.lapsed", "job.succeeded"])).fetchone()
    assert row == (1, 2)


def test_a_renewed_watch_leaves_the_cursor_alone(env: MailEnvironment) -> None:
    env.sync()
    before = env.cursor()
    env.deliver("Note", "For your information only.")
    assert env.run(env.enqueue("gmail.renew_watch")) == "succeeded"
    assert env.cursor() == before


def test_another_push_client_is_stopped_first(env: MailEnvironment) -> None:
    refusal = "Only one user push notification client allowed per developer (call /stop then try again)"
    env.fail("watch", status=400, reason="failedPrecondition", message=refusal)
    assert env.run(env.enqueue("gmail.renew_watch")) == "succeeded"
    assert [call.operation for call in env.gmail.journal()] == ["watch", "stop", "watch", "sendAs.list"]


def test_finished_jobs_go_after_a_week_and_their_audit_log_stays(env: MailEnvironment) -> None:
    old, young, waiting = (env.enqueue(kind) for kind in ("gmail.sync", "gmail.sync_labels", "gmail.renew_watch"))
    for job_id in (old, young):
        assert env.run(job_id) == "succeeded"
    shift = "update jobs set finished_at = now() - %s::interval, created_at = now() - interval '9 days' where id = %s"
    env.database.execute(shift, ("7 days 1 minute", old))
    env.database.execute(shift, ("6 days 23 hours", young))
    assert keep_house(env, "maintenance.delete_finished_jobs")["output"] == {"deleted": 1}
    left = {row[0] for row in env.database.execute("select id from jobs where job_type like 'gmail.%'")}
    assert left == {young, waiting}
    assert env.count("select count(*) from audit_log where job_id = %s", old) >= 3


def test_retention_goes_on_while_there_is_more(env: MailEnvironment) -> None:
    """A run's time is over after each batch, so that follow-ups do the rest, from where the last one ended."""
    leap(env)
    env.process.settings = env.process.settings.model_copy(update={"retention_s": 3600.0})
    add_finished_jobs(env, BATCH + 500)
    add_finished_jobs(env, 7, foreign=True)
    keep_house(env, "maintenance.delete_finished_jobs")
    assert env.count("select count(*) from jobs where request_id = 'old'") == 507
    env.drain()
    assert env.count("select count(*) from jobs where request_id = 'old'") == 0
    query = "select count(*) from jobs where job_type = 'maintenance.delete_finished_jobs' and state = 'succeeded'"
    assert env.count(query) == 2


def test_a_purge_goes_on_while_there_is_more(env: MailEnvironment) -> None:
    leap(env)
    env.database.execute(
        "insert into idempotency_keys (org_id, key, kind, mode, status, job_id, expires_at)"
        " select %s, 'old ' || n, 'job', 'for_ttl', 'succeeded', gen_random_uuid(), now() - interval '1 minute'"
        " from generate_series(1, %s) as n",
        (env.account.org_id, 2 * BATCH + 1),
    )
    keep_house(env, "maintenance.purge_expired_keys")
    assert env.count("select count(*) from idempotency_keys where key like 'old %%'") == BATCH + 1
    env.drain()
    assert env.count("select count(*) from idempotency_keys where key like 'old %%'") == 0


def test_a_job_whose_result_is_to_be_sent_stays(env: MailEnvironment) -> None:
    add_finished_jobs(env, 2)
    env.database.execute(
        "with one as (update jobs set result_wanted = true where id in"
        " (select id from jobs where request_id = 'old' limit 1) returning id)"
        " insert into result_requests (task_id, job_id, is_sent, send_at, keep_until)"
        " select id, id, true, now(), now() + interval '1 day' from one"
    )
    assert keep_house(env, "maintenance.delete_finished_jobs")["output"] == {"deleted": 1}
    env.database.execute("update result_requests set send_at = null, sent_at = now()")
    assert keep_house(env, "maintenance.delete_finished_jobs")["output"] == {"deleted": 1}


def test_the_audit_log_stays_without_its_setting(env: MailEnvironment) -> None:
    add_entries(env.database, env.account.org_id, 10)
    export_all(env.process.database)
    count_all(env.database)
    assert keep_house(env, "maintenance.delete_exported_audit")["output"] == {"deleted": 0}
    assert env.count("select count(*) from audit_entries where request_id = 'r'") == 20


def test_exported_events_leave_while_there_are_more(env: MailEnvironment) -> None:
    """A run's time is over after each batch, so that follow-ups do the rest."""
    leap(env)
    env.process.settings = env.process.settings.model_copy(update={"audit_retention_s": 30 * 86_400.0})
    add_entries(env.database, env.account.org_id, 5_000)
    export_all(env.process.database)
    count_all(env.database)
    first = keep_house(env, "maintenance.delete_exported_audit")["output"]["deleted"]
    assert 0 < first < 10_000
    env.drain()
    assert env.count("select count(*) from audit_entries where request_id = 'r'") == 0
    query = "select count(*) from jobs where job_type = 'maintenance.delete_exported_audit' and state = 'succeeded'"
    assert env.count(query) > 2


def test_expired_guards_and_expectations_go(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.sync()
    env.database.execute(
        "update idempotency_keys set key = 'in-doubt', status = 'unknown' where key like 'draft:%' and kind = 'effect'"
    )
    env.database.execute("update idempotency_keys set expires_at = now() - interval '1 minute'")
    expected = env.count("select count(*) from expected_writes")
    assert expected > 0
    env.database.execute(
        "update expected_writes set created_at = created_at - interval '8 days',"
        " expires_at = expires_at - interval '8 days'"
    )
    output = keep_house(env, "maintenance.purge_expired_keys")["output"]
    assert output["idempotency_keys"] > 0
    assert output == {name: output["idempotency_keys"] if name == "idempotency_keys" else 0 for name in output} | {
        "expected_writes": expected
    }
    assert env.count("select count(*) from expected_writes") == 0
    assert env.count("select count(*) from idempotency_keys where key = 'in-doubt'") == 1
    assert env.count("select count(*) from idempotency_keys where kind = 'effect' and status = 'succeeded'") == 0


def test_proposals_leave_after_thirty_days_applied_or_not(env: MailEnvironment) -> None:
    env.database.execute(
        "insert into proposals (org_id, project_id, job_id, rank, weights, plan_hash, plan_parts, points, total, most,"
        " is_proved, choices, reasons, created_at, applied_at, applied_by)"
        " select %s, %s, gen_random_uuid(), 1, '{}', repeat('0', 64), '{}', '{}', 0, 0, true, '[]', '{}',"
        " now() - make_interval(days => days), case when days = 31 then now() end, case when days = 31 then 'ada' end"
        " from unnest(array[29, 31, 300]) as days",
        (env.account.org_id, make_project(env.database, env.account.org_id)),
    )
    assert keep_house(env, "maintenance.purge_expired_keys")["output"]["proposals"] == 2
    assert env.count("select count(*) from proposals where created_at > now() - interval '30 days'") == 1
    assert env.count("select count(*) from proposals") == 1


def test_an_end_hook_that_could_not_run_is_called_again_until_it_can(env: MailEnvironment) -> None:
    make_hook(env.database, "end_hook", "perform 1 / 0;")
    make_job_type(env.process.database, "probe.hooked", on_end="end_hook")
    ended = claim_one(env.process.database, enqueue_one(env.process.database, env.account.org_id, "probe.hooked"))
    with env.process.database.statements() as tx:
        ledger.settle(tx, [settlement_of(ended, Done({"n": 1}), STANDARD, NOW, 0.0)])
    row = env.database.execute("select id from jobs where job_type = 'maintenance.run_end_hook'").fetchone()
    assert row is not None
    env.run(row[0])
    assert env.job(row[0])["state"] == "queued", "the hook raises still"
    repair_hook(env.database, "end_hook")
    pass_time(env.database, timedelta(minutes=5))
    env.run(row[0])
    follow_up = env.job(row[0])
    assert (follow_up["state"], follow_up["attempt"]) == ("succeeded", 2)
    assert follow_up["output"] == {"job_id": str(ended.job_id), "cause": "raised"}
    ((org_id, facts),) = hook_calls(env.database)
    assert (org_id, facts["job_id"], facts["output"]) == (env.account.org_id, str(ended.job_id), {"n": 1})


def test_a_ledger_without_a_contradiction_raises_no_alarm(env: MailEnvironment) -> None:
    assert keep_house(env, "maintenance.check_invariants")["output"] == {"violations": 0}
    assert env.count("select count(*) from audit_log where event = 'invariant.violated'") == 0


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("update idempotency_keys set status = 'succeeded'", "its guard says succeeded"),
        ("insert into serial_slots (serial_key, slot, job_id) select 'k', 1, gen_random_uuid()", "the slot 1 of k"),
        ("update jobs set attempt = 2 where state = 'running'", "it ends in running, attempt 1"),
    ],
)
def test_a_contradiction_in_the_ledger_is_audited(env: MailEnvironment, damage: str, words: str) -> None:
    store = env.process.database
    make_job_type(store)
    claim_one(store, enqueue_one(store, env.account.org_id, idempotency_key="key"))
    env.database.execute(damage.encode())
    assert keep_house(env, "maintenance.check_invariants")["output"]["violations"] >= 1
    told = "select count(*) from audit_log where event = 'invariant.violated' and data ->> 'violation' like %s"
    assert env.count(told, f"%{words}%") >= 1


def test_many_contradictions_of_one_kind_are_counted_and_hide_no_other(env: MailEnvironment) -> None:
    store = env.process.database
    make_job_type(store)
    claim_one(store, enqueue_one(store, env.account.org_id))
    slots = "insert into serial_slots (serial_key, slot, job_id) select 'k' || n, 1, gen_random_uuid()"
    env.database.execute(f"{slots} from generate_series(1, 150) as n".encode())
    env.database.execute("update jobs set attempt = 2 where state = 'running'")
    assert keep_house(env, "maintenance.check_invariants")["output"]["violations"] >= 301, "two of each slot, and one"
    told = "select count(*) from audit_log where event = 'invariant.violated' and data ->> 'violation' like %s"
    assert env.count(told, "%it ends in running, attempt 1%") == 1
    assert 0 < env.count(told, "%the slot 1 of%") <= 25
