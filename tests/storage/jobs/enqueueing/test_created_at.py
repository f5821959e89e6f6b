"""When a job was made: what a service says of it counts, unless the service's clock is ahead of the database's."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import NewJob
from storage.jobs import ledger
from storage.jobs.requests import as_requests
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import claim_one, make_job_type

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
SOON = timedelta(seconds=9)


def alone(tx: Transaction, job: NewJob) -> UUID:
    return ledger.enqueue(tx, [job], publisher=True, hint_timeout=SOON)[0].job_id


def batched(tx: Transaction, job: NewJob) -> UUID:
    return ledger.enqueue_requests(tx, as_requests([job]), publisher=True, hint_timeout=SOON, burst=1)[0].job_id


@pytest.mark.parametrize("enqueue_at", [alone, batched])
def test_no_job_is_made_later_than_it_is_enqueued(
    store: Database, database: Connection, org: UUID, enqueue_at: Callable[[Transaction, NewJob], UUID]
) -> None:
    make_job_type(store, "one.plain")
    with store.ledger() as tx:
        ahead, behind, silent = (
            enqueue_at(tx, NewJob("one.plain", org, {}, created_at=at)) for at in (LATER, LONG_AGO, None)
        )
        began = tx.raw("select now() as at")[0].at
    made: dict[UUID, datetime] = dict(database.execute("select id, created_at from jobs").fetchall())
    (now,) = database.execute("select now()").fetchone() or ()
    assert began <= made[ahead] <= now
    assert made[behind] == LONG_AGO
    assert made[silent] == began


@pytest.mark.parametrize("drift", [timedelta(minutes=-1), timedelta(minutes=1)])
def test_a_service_whose_clock_is_a_minute_off_waits_for_nothing(store: Database, org: UUID, drift: timedelta) -> None:
    make_job_type(store, "one.plain")
    said = datetime.now(UTC) + drift
    with store.ledger() as tx:
        made = alone(tx, NewJob("one.plain", org, {}, created_at=said))
    assert claim_one(store, made).job_id == made
