"""A worker whose machine's clock is wrong does everything as one whose clock is right: the time is PostgreSQL's."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from engine.app import publish_catalogue
from engine.clocks import QUICK_S, DatabaseClock
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job
from tests.house.reading import read_house

OFFSETS = [timedelta(minutes=5), timedelta(0), timedelta(minutes=-5)]
WALL_CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}


@pytest.fixture(params=OFFSETS, ids=str)
def process(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Runtime]:
    """A worker's process on a machine whose clock is that far off."""
    made = Runtime(settings, clock=lambda: datetime.now(UTC) + request.param, jitter=lambda: 0.5)
    install(made)
    publish_catalogue()
    renew(made)
    yield made
    install(None)
    made.close()


def ends_as(process: Runtime, database: Connection, org: UUID, word: str) -> tuple[object, ...]:
    """Run the probe job to this end; how the times of its row lie to each other."""
    job_id = enqueue_one(process.database, org, probe_jobs.ending.name, payload={"word": word})
    run_job(process, probe_jobs.ending, job_id)
    row = database.execute(
        "select started_at between created_at and clock_timestamp(), run_at - clock_timestamp(),"
        " finished_at >= started_at, (error ->> 'at')::timestamptz between created_at and clock_timestamp()"
        " from jobs where id = %s",
        (job_id,),
    ).fetchone()
    assert row is not None
    return tuple(row)


def test_a_retry_comes_when_its_policy_says(process: Runtime, database: Connection, org: UUID) -> None:
    started, wait, _, erred = ends_as(process, database, org, "transient")
    assert (started, erred) == (True, True)
    assert isinstance(wait, timedelta)
    assert abs(wait - probe_jobs.ending.retry.base) < timedelta(minutes=1), "late or early by what the clock is off"


def test_a_job_ends_after_it_began(process: Runtime, database: Connection, org: UUID) -> None:
    started, _, ended, _ = ends_as(process, database, org, "permanent")
    assert (started, ended) == (True, True)


def test_every_event_of_a_job_is_later_than_the_one_before(process: Runtime, database: Connection, org: UUID) -> None:
    for word in ("snooze", "transient", "permanent", "cancel"):
        ends_as(process, database, org, word)
    rows = database.execute("select job_id, at from audit_log where event like 'job.%' order by id").fetchall()
    times: dict[UUID, list[datetime]] = {}
    for job_id, at in rows:
        times.setdefault(job_id, []).append(at)
    assert len(times) == 4
    assert all(at == sorted(at) for at in times.values())


def test_handlers_are_told_the_databases_time(process: Runtime, database: Connection) -> None:
    before = database.execute("select clock_timestamp()").fetchone()
    told = process.clock()
    after = database.execute("select clock_timestamp()").fetchone()
    assert before is not None
    assert after is not None
    # Both measurements of the offset may be wrong by half of their quick answers.
    slack = timedelta(seconds=QUICK_S)
    assert before[0] - slack <= told <= after[0] + slack


def test_a_slow_answer_does_not_replace_a_quick_one() -> None:
    asked: list[datetime] = []

    def ask() -> datetime:
        asked.append(datetime(2026, 11, 23, 12, tzinfo=UTC))
        return asked[-1]

    clock = DatabaseClock(ask)
    first = clock()
    clock.learn(first + timedelta(hours=1), began=-1e9)
    assert clock() - first < timedelta(minutes=1)
    assert len(asked) == 1


def test_nothing_that_runs_jobs_looks_at_the_machines_clock() -> None:
    lookers = {
        module.name
        for module in read_house()
        if module.room in {"engine", "tasks", "commands"}
        for clock in WALL_CLOCKS
        if f"{clock}(" in module.source
    }
    # The machine's clock itself, which `doctor` compares.
    assert lookers == {"engine.runtime"}
