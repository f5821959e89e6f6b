"""Operators close and open gates, and the audit log has it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from commands import accounts, gates
from domain.jobs.gate_causes import Cause
from engine.process.runtime import Runtime
from storage.ledger import gates as stored
from storage.ledger.gates import Gate
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job

NOBODY = "0b8f7a52-6d0e-4d53-9a66-2f3f8f1c7a11"
"""The id of no org and no account."""
pytestmark = pytest.mark.usefixtures("process")


def test_a_closed_queue_keeps_its_jobs_until_it_is_opened(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.noop")
    answer(gates, "close", "queue", "default", "--reason", "a repair", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "not_claimed"
    listed = answer(gates, "list")
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
    answer(gates, "open", "queue", "default", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "succeeded"
    audited = database.execute("select event, actor_id from audit_log where event like 'gate.%' order by id").fetchall()
    assert audited == [("gate.closed", "operator:ada"), ("gate.opened", "operator:ada")]


def test_a_gate_is_opened_for_one_cause_or_for_all(process: Runtime) -> None:
    for cause in (Cause.SLOW_DOWN, Cause.BUDGET):
        with process.database.ledger() as tx:
            stored.close(tx, Gate("provider", "gmail", "wait", None, "postroom", cause))
    answer(gates, "close", "provider", "gmail", "--reason", "a repair")
    assert answer(gates, "open", "provider", "gmail", "--cause", "slow_down")["cause"] == "slow_down"
    assert "is not closed for the cause slow_down" in refusal(
        gates, "open", "provider", "gmail", "--cause", "slow_down"
    )
    assert [gate["cause"] for gate in answer(gates, "list")] == ["budget", "pause"]
    answer(gates, "open", "provider", "gmail")
    assert answer(gates, "list") == []


def test_a_gate_may_end_by_itself() -> None:
    made = answer(gates, "close", "fleet", "--reason", "a deploy", "--for", 60)
    left = datetime.fromisoformat(made["until"]) - datetime.now(UTC)
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    assert "a deploy" in call(gates, "list").output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("close", "queue", "nope", "--reason", "r"), "no queue nope"),
        (("close", "job_type", "no.pe", "--reason", "r"), "no job type no.pe"),
        (("close", "org", "--reason", "r"), "every other scope needs one"),
        (("close", "fleet", "x", "--reason", "r"), "the fleet has none"),
        (("close", "fleet", "--reason", "r", "--until", "soon"), "until: is no RFC 3339 time"),
        (("close", "fleet", "--reason", "r", "--until", "2020-01-01T00:00:00Z"), "until: is in the past"),
        (("close", "fleet", "--reason", "r", "--for", "999999999999999"), "for: ends after the year 9999"),
        (("close", "provider", "gmial", "--reason", "r"), "key: there is no provider gmial"),
        (("close", "org", NOBODY, "--reason", "r"), f"key: there is no org with the id {NOBODY}"),
        (("close", "org", "acme", "--reason", "r"), "key: acme is no id"),
        (("close", "account", NOBODY, "--reason", "r"), f"key: there is no account with the id {NOBODY}"),
        (("close", "account", NOBODY.upper(), "--reason", "r"), "is no id in its usual form"),
        (("close", "org_provider", f"{NOBODY}:gmail", "--reason", "r"), f"key: there is no org with the id {NOBODY}"),
        (("close", "org_provider", f"{NOBODY}:gmial", "--reason", "r"), "key: there is no provider gmial"),
        (("open", "queue", "default"), "is not closed"),
    ],
)
def test_an_order_that_could_never_match_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(gates, *arguments)
    assert answer(gates, "list") == []


@pytest.mark.parametrize(("scope", "key"), [("provider", "gmail"), ("org", "{org}"), ("org_provider", "{org}:gmail")])
def test_a_gate_of_what_exists_is_closed(org: UUID, scope: str, key: str) -> None:
    made = answer(gates, "close", scope, key.format(org=org), "--reason", "a repair")
    assert (made["scope"], made["key"]) == (scope, key.format(org=org))


def test_a_gate_of_an_account_is_closed() -> None:
    given = ("--org", "acme", "--email", "reader@example.com", "--access-token", "a", "--refresh-token", "r")
    account = answer(accounts, "add", *given)["account_id"]
    assert answer(gates, "close", "account", account, "--reason", "a repair")["key"] == account
