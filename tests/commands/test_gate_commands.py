"""Operators close and open gates, and the audit log has it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from commands import gates
from engine.process.runtime import Runtime
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job

pytestmark = pytest.mark.usefixtures("process")


def test_a_closed_queue_keeps_its_jobs_until_it_is_opened(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.noop")
    answer(gates, "close", "queue", "default", "--reason", "a repair", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "not_claimed"
    listed = answer(gates, "list")
    assert listed == [
        {"scope": "queue", "key": "default", "reason": "a repair", "until": None, "actor": "operator:ada"}
    ]
    answer(gates, "open", "queue", "default", "--as", "ada")
    assert run_job(process, probe_jobs.noop, job_id) == "succeeded"
    audited = database.execute("select event, actor_id from audit_log where event like 'gate.%' order by id").fetchall()
    assert audited == [("gate.closed", "operator:ada"), ("gate.opened", "operator:ada")]


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
        (("open", "queue", "default"), "is not closed"),
    ],
)
def test_an_order_that_could_never_match_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(gates, *arguments)
    assert answer(gates, "list") == []
