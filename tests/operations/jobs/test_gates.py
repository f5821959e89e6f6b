"""Operators close and open gates, and the audit log has it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from commands.accounts import accounts
from commands.operations import AREAS
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from engine.runtime import Runtime
from storage.jobs import gates as stored
from storage.jobs.gates import Gate
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job

NOBODY = "0b8f7a52-6d0e-4d53-9a66-2f3f8f1c7a11"
"""The id of no org and no account."""
pytestmark = pytest.mark.usefixtures("process")


def test_a_closed_queue_keeps_its_jobs_until_it_is_opened(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.noop")
    answer(AREAS.gates, "close", "queue", "default", "--reason", "a repair", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "not_claimed"
    listed = answer(AREAS.gates, "list")
    assert listed == [
        {
            "scope": "queue",
            "key": "default",
            "reason": "a repair",
            "until": None,
            "actor": "operator:ada",
            "cause": "pause",
        }
    ]
    answer(AREAS.gates, "open", "queue", "default", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "succeeded"
    audited = database.execute("select event, actor_id from audit_log where event like 'gate.%' order by id").fetchall()
    assert audited == [("gate.closed", "operator:ada"), ("gate.opened", "operator:ada")]


def test_a_gate_is_opened_for_one_cause_or_for_all(process: Runtime) -> None:
    for cause in (Cause.SLOW_DOWN, Cause.BUDGET):
        with process.database.ledger() as tx:
            stored.close(tx, Gate("provider", "gmail", "wait", None, "postroom", cause))
    answer(AREAS.gates, "close", "provider", "gmail", "--reason", "a repair")
    assert answer(AREAS.gates, "open", "provider", "gmail", "--cause", "slow_down")["cause"] == "slow_down"
    assert "slow_down" in refusal(AREAS.gates, "open", "provider", "gmail", "--cause", "slow_down")
    assert [gate["cause"] for gate in answer(AREAS.gates, "list")] == ["budget", "pause"]
    answer(AREAS.gates, "open", "provider", "gmail")
    assert answer(AREAS.gates, "list") == []


def test_a_gate_may_end_by_itself() -> None:
    made = answer(AREAS.gates, "close", "fleet", "--reason", "a deploy", "--seconds", 60)
    left = datetime.fromisoformat(made["until"]) - datetime.now(UTC)
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    assert "a deploy" in call(AREAS.gates, "list").output


def test_of_two_closings_the_answer_is_the_one_that_holds() -> None:
    for_ever = answer(AREAS.gates, "close", "fleet", "--reason", "a fire", "--as", "ada")
    shorter = answer(AREAS.gates, "close", "fleet", "--reason", "a deploy", "--seconds", 60, "--as", "bob")
    assert for_ever == shorter == answer(AREAS.gates, "list")[0]
    answer(AREAS.gates, "open", "fleet")
    short = answer(AREAS.gates, "close", "fleet", "--reason", "a deploy", "--seconds", 60)
    assert answer(AREAS.gates, "close", "fleet", "--reason", "a fire")["until"] is None
    assert short["until"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("close", "queue", "nope", "--reason", "r"), "key: nope is no known queue; known are critical, default, "),
        (
            ("close", "job_type", "no.pe", "--reason", "r"),
            "key: no.pe is no known job type; known are accounts.learn_voice, ",
        ),
        (("close", "org", "--reason", "r"), "every other scope needs one"),
        (("close", "fleet", "x", "--reason", "r"), "the fleet has none"),
        (("close", "fleet", "--reason", "r", "--until", "soon"), "until: is no RFC 3339 time"),
        (("close", "fleet", "--reason", "r", "--until", ""), "until: is no RFC 3339 time"),
        (
            ("close", "fleet", "--reason", "r", "--until", "", "--seconds", "60"),
            "until: give either a time or a number",
        ),
        (("close", "fleet", "--reason", "r", "--until", "2020-01-01T00:00:00Z"), "until: is in the past"),
        (("close", "fleet", "--reason", "r", "--seconds", "999999999999999"), "seconds: ends after the year 9999"),
        (("close", "provider", "gmial", "--reason", "r"), "key: gmial is no known provider; known are a"),
        (("close", "org", NOBODY, "--reason", "r"), f"key: there is no org {NOBODY}"),
        (("close", "org", "nobody", "--reason", "r"), "key: there is no org nobody"),
        (("close", "account", NOBODY, "--reason", "r"), f"key: there is no account {NOBODY}"),
        (("close", "account", "a@b.example", "--reason", "r"), "key: there is no account a@b.example"),
        (("close", "org_provider", f"{NOBODY}:gmail", "--reason", "r"), f"key: there is no org {NOBODY}"),
        (("close", "org_provider", NOBODY, "--reason", "r"), "key: is the org's id or name, a colon and"),
        (("open", "queue", "default"), "is not closed"),
        (("open", "provider", "antropic"), "key: antropic is no known provider; known are a"),
        (("open", "account", "a@b.example"), "key: there is no account a@b.example"),
    ],
)
def test_an_order_that_could_never_match_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(AREAS.gates, *arguments)
    assert answer(AREAS.gates, "list") == []


@pytest.mark.parametrize(("scope", "key"), [("provider", "gmail"), ("org", "{org}"), ("org_provider", "{org}:gmail")])
def test_a_gate_of_what_exists_is_closed(org: UUID, scope: str, key: str) -> None:
    made = answer(AREAS.gates, "close", scope, key.format(org=org), "--reason", "a repair")
    assert (made["scope"], made["key"]) == (scope, key.format(org=org))


def test_a_gate_of_an_account_is_closed() -> None:
    given = ("--org", "acme", "--email", "reader@example.com", "--access-token", "a", "--refresh-token", "r")
    account = answer(accounts, "add", *given)["account_id"]
    for named in (account, account.upper(), "Reader@Example.com"):
        assert answer(AREAS.gates, "close", "account", named, "--reason", "a repair")["key"] == account
        assert answer(AREAS.gates, "open", "account", named)["key"] == account
        assert answer(AREAS.gates, "list") == []


def test_a_gate_of_an_org_may_be_named_by_the_org_s_name(org: UUID, database: Connection) -> None:
    database.execute("update orgs set name = 'Acme: East' where id = %s", (org,))
    assert answer(AREAS.gates, "close", "org", "Acme: East", "--reason", "a repair")["key"] == str(org)
    made = answer(AREAS.gates, "close", "org_provider", "Acme: East:gmail", "--reason", "a repair")
    assert made["key"] == f"{org}:gmail"
    assert "gmial" in refusal(AREAS.gates, "close", "org_provider", f"{org}:gmial", "--reason", "r")


def test_the_log_of_the_org_that_a_gate_is_about_keeps_its_reason(org: UUID, database: Connection) -> None:
    given = ("--org", "acme", "--email", "reader@example.com", "--access-token", "a", "--refresh-token", "r")
    answer(accounts, "add", *given)
    (acme,) = database.execute("select id from orgs where name = 'acme'").fetchone() or (None,)
    about = {
        ("org", str(org)): org,
        ("org_provider", f"{org}:gmail"): org,
        ("account", "reader@example.com"): acme,
        ("provider", "gmail"): SYSTEM_ORG,
        ("queue", "default"): SYSTEM_ORG,
    }
    for named in about:
        answer(AREAS.gates, "close", *named, "--reason", "she asked")
        answer(AREAS.gates, "open", *named)
    query = "select org_id, event, data ->> 'reason' from audit_log where event like 'gate.%' order by id"
    closed_and_opened = [(("gate.closed", "she asked"), ("gate.opened", None))] * len(about)
    expected = [(of, *event) for of, pair in zip(about.values(), closed_and_opened, strict=True) for event in pair]
    assert database.execute(query).fetchall() == expected


def test_a_gate_that_names_nothing_any_more_can_still_be_opened(process: Runtime) -> None:
    with process.database.ledger() as tx:
        stored.close(tx, Gate("job_type", "gone.by", "of another release", None, "ann", Cause.PAUSE))
    assert answer(AREAS.gates, "open", "job_type", "gone.by")["state"] == "open"


def test_pages_of_gates_follow_each_other() -> None:
    for queue in ("planning", "critical", "default"):
        answer(AREAS.gates, "close", "queue", queue, "--reason", "a repair")
    shown = call(AREAS.gates, "list", "--limit", 2)
    rest = answer(AREAS.gates, "list", "--cursor", shown.stderr.split()[-1])
    assert [gate["key"] for gate in rest] == ["planning"]


def test_the_gate_of_a_move_is_opened_by_the_move_alone(process: Runtime, org: UUID) -> None:
    with process.database.ledger() as tx:
        stored.close(tx, Gate("org", str(org), "it moves", None, "ada", Cause.MOVE))
        stored.close(tx, Gate("org", str(org), "a repair", None, "ada"))
    answer(AREAS.gates, "open", "org", org)
    assert [gate["cause"] for gate in answer(AREAS.gates, "list")] == ["move"]
    assert "orgs stay" in refusal(AREAS.gates, "open", "org", org, "--cause", "move")
