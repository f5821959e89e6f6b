"""Any number of jobs enqueued from Python."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from engine.enqueue import BULK, enqueue_many
from engine.runtime import Runtime
from settings import Settings
from tests.engine.worker.test_lost_answers import Forgetful
from tests.invariants import check_ledger

MANY = 2 * BULK + 5


def jobs(org: UUID, count: int = MANY) -> Iterator[NewJob]:
    return (NewJob("probe_jobs.noop", org, {}) for _ in range(count))


def count(database: Connection) -> int:
    found = database.execute("select count(*) from jobs").fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.usefixtures("process")
def test_many_jobs_are_enqueued_in_their_order_and_progress_is_told(database: Connection, org: UUID) -> None:
    counts: list[int] = []
    answers = enqueue_many(jobs(org), progress=counts.append)
    assert counts == [BULK, 2 * BULK, MANY]
    assert all(answer.created for answer in answers)
    kept = database.execute("select id from jobs order by id").fetchall()
    assert [answer.job_id for answer in answers] == [row[0] for row in kept]
    check_ledger(database, open_jobs=MANY)


def test_a_statement_whose_answer_was_lost_is_sent_again_and_makes_no_second_job(
    settings: Settings, process: Runtime, database: Connection, org: UUID
) -> None:
    process.database.dispose()
    process.database = Forgetful(settings, lost={2})
    answers = enqueue_many(jobs(org))
    assert len({answer.job_id for answer in answers}) == MANY == count(database)
    check_ledger(database, open_jobs=MANY)


@pytest.mark.usefixtures("process")
def test_jobs_with_keys_can_be_handed_over_again(database: Connection, org: UUID) -> None:
    def keyed() -> Iterator[NewJob]:
        return (NewJob("probe_jobs.noop", org, {}, idempotency_key=f"import:{line}") for line in range(BULK + 5))

    first, second = enqueue_many(keyed()), enqueue_many(keyed())
    assert [answer.job_id for answer in first] == [answer.job_id for answer in second]
    assert not any(answer.created for answer in second)
    assert count(database) == BULK + 5


@pytest.mark.usefixtures("process")
def test_a_job_that_is_refused_names_its_field_and_leaves_what_was_committed(database: Connection, org: UUID) -> None:
    def mixed() -> Iterator[NewJob]:
        yield from jobs(org, BULK)
        yield NewJob("probe_jobs.noop", org, {"api_key": "x"})

    with pytest.raises(Invalid, match=r"payload\.api_key"):
        enqueue_many(mixed())
    assert count(database) == BULK


@pytest.mark.usefixtures("process")
def test_nothing_to_enqueue_is_no_mistake() -> None:
    assert enqueue_many([]) == ()
