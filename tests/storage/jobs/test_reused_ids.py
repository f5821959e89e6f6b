"""An id is free again when its job has left the ledger; who takes it gets nothing of the job that had it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Transient
from domain.jobs.job import Done, Outcome
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import audit, ledger
from storage.jobs.replays import dead_letters
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, pass_time

LONG_AGO = timedelta(days=400)


@pytest.fixture
def orgs(database: Connection, store: Database) -> tuple[UUID, UUID]:
    make_job_type(store)
    return make_org(database, "first"), make_org(database, "second")


def live(store: Database, org: UUID, job_id: UUID, end: Outcome | Transient) -> None:
    """A job of that id from its enqueue to its end, with an event of its own; a transient failure is its last."""
    enqueue_one(store, org, job_id=job_id, max_attempts=1)
    held = claim_one(store, job_id)
    with store.ledger() as tx:
        audit.record(tx, held, "mail.sent", {"to": str(org)})
        settled = ledger.settle(tx, [settlement_of(held, end, STANDARD, datetime.now(UTC), 0.0)])
    assert not settled.refused


def leave(store: Database, database: Connection) -> None:
    """Retention deletes what has ended."""
    pass_time(database, LONG_AGO)
    with store.ledger() as tx:
        tx.run("delete_finished_jobs", after=UUID(int=0), batch=100, keep_for=LONG_AGO / 2)


def letters_of(store: Database, org: UUID) -> list[tuple[str, set[str]]]:
    """State of each letter that the org sees, and whose events its history has."""
    with store.tenant(org) as tx:
        rows = tx.raw("select state, history from dead_letters")
    return [
        (row.state, {event["data"]["to"] for event in row.history if event["event"] == "mail.sent"}) for row in rows
    ]


def test_a_letter_has_the_events_of_its_own_org(store: Database, database: Connection, orgs: tuple[UUID, UUID]) -> None:
    first, second = orgs
    job_id = uuid4()
    live(store, first, job_id, Done())
    leave(store, database)
    live(store, second, job_id, Transient("it broke"))
    assert letters_of(store, second) == [("open", {str(second)})]


def test_a_letter_has_the_history_of_each_job_of_its_id(
    store: Database, database: Connection, orgs: tuple[UUID, UUID]
) -> None:
    job_id = uuid4()
    live(store, orgs[0], job_id, Done())
    leave(store, database)
    live(store, orgs[0], job_id, Transient("it broke"))
    with store.ledger() as tx:
        letter = dead_letters.of_job(tx, job_id)
    assert letter is not None
    assert sum(one["event"] == "job.enqueued" for one in letter.history) == 2


@pytest.mark.parametrize("again", [0, 1], ids=["same org", "another org"])
def test_a_job_that_dies_has_its_letter_though_a_letter_has_its_id(
    store: Database, database: Connection, orgs: tuple[UUID, UUID], again: int
) -> None:
    job_id = uuid4()
    live(store, orgs[0], job_id, Transient("it broke"))
    database.execute(
        "update dead_letters set state = 'discarded', resolved_at = now(), resolved_by = 'ann', resolution = 'known'"
    )
    leave(store, database)
    live(store, orgs[again], job_id, Transient("it broke"))
    assert [state for state, _ in letters_of(store, orgs[again])] == ["open"]


def test_a_child_in_another_org_keeps_nobodys_job(
    store: Database, database: Connection, orgs: tuple[UUID, UUID]
) -> None:
    first, second = orgs
    job_id = uuid4()
    live(store, first, job_id, Done())
    enqueue_one(store, second, parent_id=job_id)
    leave(store, database)
    assert database.execute("select count(*) from jobs where id = %s", (job_id,)).fetchone() == (0,)
