"""A payload without a version is of the oldest one, at every entry point, and is read as that."""

import json
from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.failures import Invalid
from domain.payloads.shape import shape_of
from engine.app import write_catalogue
from engine.runtime import Runtime
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_job_type
from tests.doubles.inline_worker import run_job
from tests.engine import versioned_jobs
from tests.engine.entry_points import ENTRY_POINTS, EVERY_WAY, EntryPoint, Given, command_line

OLD, NEW = {"cents": 700}, {"euros": 7}
PAY = versioned_jobs.pay
schedules = AREAS.schedules


@pytest.fixture(autouse=True)
def _published(process: Runtime) -> None:
    """As workers of both versions have published the type."""
    cents = shape_of(
        {"properties": {"cents": {"type": "integer"}}, "required": ["cents"], "additionalProperties": False}
    )
    make_job_type(process.database, PAY.name, payload_version=1, payload_shape=cents)
    with process.database.ledger() as tx:
        write_catalogue(tx)


@pytest.mark.parametrize("enqueue", EVERY_WAY.values(), ids=EVERY_WAY)
def test_without_a_version_the_oldest_is_meant(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    asked: list[Given] = [
        {"payload": OLD},
        {"payload": OLD, "payload_version": 1},
        {"payload": NEW, "payload_version": 2},
    ]
    made = [enqueue(process, org, {"job_type": PAY.name, **each}) for each in asked]
    for job_id in made:
        assert run_job(process, PAY, job_id) == "succeeded"
    rows = database.execute("select payload_version, output from jobs order by array_position(%s, id)", (made,))
    kept = 2 if enqueue is command_line else 1  # a command writes every job as its class does
    assert rows.fetchall() == [(kept, {"euros": 7}), (kept, {"euros": 7}), (2, {"euros": 7})]


@pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
def test_a_newer_shape_without_its_version_is_refused_and_not_guessed(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    with pytest.raises(Invalid, match="payload"):
        enqueue(process, org, {"job_type": PAY.name, "payload": NEW})
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


def test_a_schedule_without_a_version_carries_the_oldest_as_the_class_writes_it(process: Runtime, org: UUID) -> None:
    assert process
    asked = ("--org", org, "--job-type", PAY.name, "--cron", "0 0 * * *", "--payload")
    made = answer(schedules, "add", "old", *asked, json.dumps(OLD))
    newer = answer(schedules, "add", "new", *asked, json.dumps(NEW), "--payload-version", 2)
    assert made["payload"] == newer["payload"] == NEW
    assert "payload: " in refusal(schedules, "add", "unsaid", *asked, json.dumps(NEW))
