"""Operators enqueue, list, understand and cancel jobs from the command line."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import click
import pytest
from psycopg import Connection

from commands.accounts import accounts
from commands.jobs import jobs
from commands.operations import AREAS
from commands.secrets import secrets
from domain.jobs.job import NewJob
from engine.runtime import Runtime
from storage.jobs import job_views, ledger
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import HINT_TIMEOUT, enqueue_one, make_org
from tests.doubles.inline_worker import run_job

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("process")


def enqueued(org: object, *options: object, job_type: str = "probe_jobs.ending") -> UUID:
    return UUID(answer(jobs, "enqueue", job_type, "--org", org, *options)["job_id"])


def test_an_enqueued_job_stands_in_the_ledger_as_it_was_ordered(org: UUID, database: Connection) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    job_id = enqueued(
        org, "--payload", '{"word": "hello"}', "--run-at", due.isoformat(), "--priority", 7, "--key", "k", "--as", "ada"
    )
    row = database.execute(
        "select payload, run_at, priority, idempotency_key, actor_type, actor_id from jobs where id = %s", (job_id,)
    ).fetchone()
    assert row == ({"word": "hello", "account_id": "a"}, due, 7, "k", "user", "operator:ada")


def test_an_enqueued_job_runs(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = enqueued(org)
    assert run_job(process, probe_jobs.ending, job_id) == "succeeded"
    assert database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("succeeded",)


def test_a_payload_may_come_on_standard_input(org: UUID, database: Connection) -> None:
    made = answer(jobs, "enqueue", "probe_jobs.ending", "--org", org, "--payload", "-", typed='{"word": "piped"}')
    found = database.execute("select payload ->> 'word' from jobs where id = %s", (made["job_id"],)).fetchone()
    assert found == ("piped",)


def test_an_org_goes_by_its_name_unless_several_have_it(database: Connection) -> None:
    org = make_org(database, "acme")
    job_id = enqueued("acme")
    assert database.execute("select org_id from jobs where id = %s", (job_id,)).fetchone() == (org,)
    make_org(database, "acme")
    assert "several orgs" in refusal(jobs, "enqueue", "probe_jobs.ending", "--org", "acme")
    assert "no org" in refusal(jobs, "enqueue", "probe_jobs.ending", "--org", "nobody")


@pytest.mark.parametrize(
    "command", [accounts, AREAS.agents, AREAS.budgets, AREAS.effects, jobs, AREAS.keys, AREAS.schedules, secrets]
)
def test_an_empty_name_of_an_org_means_no_org_and_not_all_of_them(command: click.Group) -> None:
    assert "org: " in refusal(command, "list", "--org", "")


def test_jobs_of_a_misspelt_type_are_refused_and_those_of_a_type_that_has_gone_are_listed(
    org: UUID, database: Connection
) -> None:
    assert "probe_jobs.endng" in refusal(jobs, "list", "--job-type", "probe_jobs.endng")
    assert answer(jobs, "list", "--job-type", "probe_jobs.ending") == []
    job_id = enqueued(org)
    database.execute("update jobs set job_type = 'gone.type' where id = %s", (job_id,))
    assert [row["job_id"] for row in answer(jobs, "list", "--job-type", "gone.type")] == [str(job_id)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--payload", '{"word": 5}'), "payload.word"),
        (("--payload", '{"wrod": "x"}'), "payload.wrod"),
        (("--payload", "[]"), "payload: is no JSON object"),
        (("--payload", "{"), "payload: is no JSON"),
        (("--payload", '{"word": "\\u0000"}'), "character that PostgreSQL cannot store"),
        (("--run-at", "tomorrow"), "run_at: is no RFC 3339 time"),
        (("--run-at", "2026-01-01T00:00:00"), "run_at: has no time zone"),
    ],
)
def test_a_bad_order_is_refused_with_its_field(org: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(jobs, "enqueue", "probe_jobs.ending", "--org", org, *options)
    assert answer(jobs, "list") == []


def test_an_unknown_type_is_refused_with_the_known_ones(org: UUID) -> None:
    assert "probe_jobs.noop" in refusal(jobs, "enqueue", "probe_jobs.nope", "--org", org)


def test_a_taken_key_names_the_job_that_has_it(org: UUID) -> None:
    first = answer(jobs, "enqueue", "probe_jobs.noop", "--org", org, "--key", "k")
    second = answer(jobs, "enqueue", "probe_jobs.noop", "--org", org, "--key", "k")
    assert (first["created"], second["created"]) == (True, False)
    assert first["job_id"] == second["job_id"]


def test_a_key_of_another_request_is_refused(org: UUID) -> None:
    enqueued(org, "--key", "k", "--payload", '{"word": "one"}')
    said = refusal(jobs, "enqueue", "probe_jobs.ending", "--org", org, "--key", "k", "--payload", '{"word": "two"}')
    assert "idempotency_key: " in said


def test_a_job_may_have_its_own_attempts_and_times(org: UUID, database: Connection) -> None:
    job_id = enqueued(org, "--max-attempts", 2, "--retry-base", 3, "--retry-cap", 9)
    row = database.execute("select max_attempts, retry_base_s, retry_cap_s from jobs where id = %s", (job_id,))
    assert row.fetchone() == (2, 3, 9)


def test_a_list_is_narrowed_by_every_filter(process: Runtime, org: UUID, database: Connection) -> None:
    done, waiting = enqueued(org), enqueued(org, job_type="probe_jobs.noop")
    elsewhere = enqueued(make_org(database, "other"))
    run_job(process, probe_jobs.ending, done)

    def ids(*options: object) -> list[UUID]:
        return [UUID(line["job_id"]) for line in answer(jobs, "list", *options)]

    assert ids() == [elsewhere, waiting, done]
    assert ids("--limit", 1) == [elsewhere]
    assert ids("--state", "succeeded") == [done]
    assert ids("--state", "succeeded", "--state", "queued", "--org", org) == [waiting, done]
    assert ids("--job-type", "probe_jobs.noop") == [waiting]
    assert ids("--org", "other") == [elsewhere]
    assert ids("--queue", "critical") == []


def test_a_job_is_shown_with_timeline_steps_effects_and_children(process: Runtime, org: UUID) -> None:
    parent = enqueue_one(process.database, org, "probe_jobs.parent", payload={})
    run_job(process, probe_jobs.parent, parent)
    chatty = enqueue_one(process.database, org, "probe_jobs.chatty", payload={})
    run_job(process, probe_jobs.chatty, chatty)
    effect = enqueue_one(process.database, org, "probe_jobs.effectful", payload={"key": "d", "goes": ["ok"]})
    run_job(process, probe_jobs.effectful, effect)

    family = answer(jobs, "show", parent)
    assert [event["event"] for event in family["events"]] == ["job.enqueued", "job.started", "job.succeeded"]
    assert [child["job_type"] for child in family["children"]] == ["probe_jobs.noop"]
    assert family["job"]["state"] == "succeeded"
    assert "claim_token" not in family["job"]
    assert [(s["name"], s["result"]) for s in answer(jobs, "show", chatty)["steps"]] == [("count", {"attempt": 1})]
    assert [(e["key"], e["status"]) for e in answer(jobs, "show", effect)["effects"]] == [("d", "succeeded")]
    text = call(jobs, "show", parent).output
    assert text.index("state") < text.index("actor_id") < text.index("payload_version"), "the state comes first"
    assert not {"parked_by", "losses", "suspect", "correlation_id", "steps"} & set(text.split()), "only what is set"
    assert {"parked_by", "losses", "suspect", "correlation_id"} <= set(family["job"])
    assert all(word in text for word in (str(parent), "job.started", "probe_jobs.noop", "children"))
    assert "no job" in refusal(jobs, "show", uuid4())


def test_a_parent_of_many_shows_some_and_counts_them(process: Runtime, org: UUID, database: Connection) -> None:
    parent = enqueued(org)
    children = [enqueue_one(process.database, org, "probe_jobs.noop", parent_id=parent) for _ in range(3)]
    with process.database.ledger() as tx:
        many = [NewJob("probe_jobs.noop", org, {}, parent_id=parent) for _ in range(job_views.SHOWN)]
        ledger.enqueue(tx, many, publisher=True, hint_timeout=HINT_TIMEOUT)
    database.execute(
        "update jobs set state = 'canceled', cancel_reason = 'x', finished_at = now(), next_check_at = null,"
        " backlog_since = null where id = any (%s)",
        (children,),
    )
    shown = answer(jobs, "show", parent)
    assert [UUID(child["job_id"]) for child in shown["children"][:3]] == children
    assert (len(shown["children"]), shown["more"]) == (job_views.SHOWN, ["children"])
    assert shown["children_by_state"] == {"canceled": 3, "queued": job_views.SHOWN}
    assert "there are more children" in call(jobs, "show", parent).output
    shown = call(jobs, "children", parent, "--limit", 2)
    rest = answer(jobs, "children", parent, "--cursor", shown.stderr.split()[-1], "--limit", 1)
    assert [str(child) in shown.stdout for child in children] == [True, True, False]
    assert [UUID(child["job_id"]) for child in rest] == children[2:]


def test_the_newest_events_are_shown_in_order(org: UUID, database: Connection) -> None:
    job_id = enqueued(org)
    database.execute(
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, data)"
        " select 'job.parked', %s, 'system', 'x', 'r', 'c', %s, jsonb_build_object('n', n)"
        " from generate_series(1, 120) n",
        (org, job_id),
    )
    shown = answer(jobs, "show", job_id)
    assert [event["data"]["n"] for event in shown["events"]] == list(range(21, 121))
    assert shown["more"] == ["events"]


def test_what_is_shown_is_redacted_and_cannot_command_the_terminal(
    process: Runtime, org: UUID, database: Connection
) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "done"})
    run_job(process, probe_jobs.ending, job_id)
    database.execute(
        "update jobs set cancel_reason = %s, error = %s where id = %s",
        ("\x1b[2J[red]gone", json.dumps({"reason": "Bearer abcdefghijklmnop"}), job_id),
    )
    for output in (call(jobs, "show", job_id).output, call(jobs, "show", job_id, "--json").output):
        assert "abcdefghijklmnop" not in output
        assert "\x1b" not in output
    assert "[red]gone" in call(jobs, "show", job_id).output


def test_canceling_tells_what_became_of_each(process: Runtime, org: UUID, database: Connection) -> None:
    queued, done, unknown = enqueued(org), enqueued(org), uuid4()
    run_job(process, probe_jobs.ending, done)
    rows = answer(jobs, "cancel", queued, done, unknown, "--reason", "not needed", "--as", "ada", status=1)
    lines = {UUID(row["job_id"]): (row["state"], row.get("trouble")) for row in rows}
    assert lines == {
        queued: ("canceled", None),
        done: ("unchanged", f"job {done} has ended"),
        unknown: ("unchanged", f"there is no job {unknown}"),
    }
    audited = database.execute("select actor_id, data from audit_log where event = 'job.canceled'").fetchall()
    assert audited == [("operator:ada", {"reason": "not needed"})]
    assert answer(jobs, "cancel", enqueued(org), "--reason", "not needed")[0]["state"] == "canceled"


@pytest.mark.parametrize(("options", "canceled"), [((), True), (("--no-children",), False)])
def test_canceling_reaches_what_the_job_enqueued(
    process: Runtime, org: UUID, *, options: tuple[str, ...], canceled: bool
) -> None:
    parent = enqueued(org)
    child = enqueue_one(process.database, org, "probe_jobs.ending", parent_id=parent)
    rows = answer(jobs, "cancel", parent, "--reason", "not needed", *options)
    assert [(row["job_id"], row["descendants"]) for row in rows] == [(str(parent), int(canceled))]
    assert answer(jobs, "show", child)["job"]["state"] == ("canceled" if canceled else "queued")


def test_celery_itself_finds_the_command_and_answers_clean_json(process: Runtime, org: UUID) -> None:
    job_id = enqueued(org)
    settings = process.settings
    environment = os.environ | {
        "POSTROOM_DATABASE_URL": settings.database_url.get_secret_value(),
        "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    command = [sys.executable, "-m", "celery", "-A", "tasks", "jobs", "list", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=60)  # noqa: S603  # our own command
    assert done.returncode == 0, done.stderr
    assert [line["job_id"] for line in json.loads(done.stdout)] == [str(job_id)]


def test_an_ended_job_is_retried_once_as_a_new_one(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = enqueued(org, job_type="probe_jobs.noop")
    assert "trouble" in answer(jobs, "retry", job_id, status=1)[0]
    answer(jobs, "cancel", job_id, "--reason", "too early")
    (line,) = answer(jobs, "retry", job_id, "--reason", "now", "--as", "ada")
    row = database.execute("select replay_of, state, actor_id from jobs where id = %s", (line["job_id"],)).fetchone()
    assert row == (job_id, "queued", "operator:ada")
    assert run_job(process, probe_jobs.noop, UUID(line["job_id"])) == "succeeded"
    (again,) = answer(jobs, "retry", job_id, status=1)
    assert line["job_id"] in again["trouble"]
    (unknown,) = answer(jobs, "retry", uuid4(), status=1)
    assert "there is no job" in unknown["trouble"]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ('{"a":' * 5000, "payload: is nested too deeply"),
        ('{"a": NaN}', "payload: is no JSON: NaN is no number of JSON"),
    ],
)
def test_a_payload_that_is_no_json_is_refused_by_its_field(org: UUID, payload: str, reason: str) -> None:
    assert reason in refusal(jobs, "enqueue", "gmail.sync", "--org", org, "--payload", payload)


def test_job_types_are_listed_with_whose_they_are() -> None:
    found = {one["job_type"]: one for one in answer(jobs, "types", "--limit", 500)}
    assert (found["gmail.sync"]["package"], found["gmail.sync"]["queue"]) == ("postroom", "default")
    assert (found["probe_jobs.ending"]["package"], found["probe_jobs.ending"]["deadline_s"]) == ("tests", 1800)
