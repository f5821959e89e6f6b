"""After each deed on a job the ledger contradicts itself nowhere: the hourly check alarms for damage alone."""

from collections.abc import Callable
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Permanent
from domain.jobs.job import Cancel, Origin
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from engine.runtime import Runtime
from engine.worker.runner import Bug
from operations.jobs import cancellations, replays
from operations.jobs.replays import Replacement
from storage.jobs import ledger
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_worker
from tests.invariants import find_gaps
from tests.storage.jobs.test_end_hooks import NOW

BY = Origin(actor_id="ada")

Deed = Callable[[Runtime, UUID], object]


def ended(process: Runtime, org: UUID, how: object) -> UUID:
    """A job that has ended so."""
    job_id = enqueue_one(process.database, org, payload={"n": 1}, max_attempts=1)
    job = claim_one(process.database, job_id)
    with process.database.ledger() as tx:
        ledger.settle(tx, [settlement_of(job, how, STANDARD, NOW, 0.0)])  # type: ignore[arg-type]  # an outcome or a failure
    return job_id


def cancel(process: Runtime, job_id: UUID) -> object:
    return cancellations.cancel(process.database, [job_id], "not wanted", by=BY)


def retry(process: Runtime, job_id: UUID) -> object:
    with process.database.ledger() as tx:
        return replays.retry(tx, job_id, by=BY, reason="again")


def retry_twice(process: Runtime, job_id: UUID) -> object:
    again = UUID(str(retry(process, job_id)))
    cancel(process, again)
    return retry(process, again)


def replay(process: Runtime, job_id: UUID) -> object:
    with process.database.ledger() as tx:
        return replays.replay(tx, job_id, by=BY, reason="mended", mended=Replacement({"n": 2}, 1))


def discard(process: Runtime, job_id: UUID) -> object:
    with process.database.ledger() as tx:
        replays.discard(tx, job_id, by=BY, reason="not wanted")
    return None


DEEDS: dict[str, tuple[object, Deed]] = {
    "cancel a waiting job": ("queued", cancel),
    "cancel a running job": ("running", cancel),
    "retry a failed job": (Permanent("no use"), retry),
    "retry a canceled job": (Cancel("not wanted"), retry),
    "retry the retry of a canceled job": (Cancel("not wanted"), retry_twice),
    "retry a dead job": ("dead", retry),
    "replay a dead letter with another payload": ("dead", replay),
    "discard a dead letter": ("dead", discard),
}


@pytest.mark.parametrize(("how", "deed"), DEEDS.values(), ids=DEEDS)
def test_after_each_deed_nothing_contradicts_itself(
    process: Runtime, org: UUID, database: Connection, how: object, deed: Deed
) -> None:
    make_job_type(process.database, unique_mode="while_active", unique_fields=("n",))
    job_id = given(process, org, how)
    assert find_gaps(database, resting=False) == []
    deed(process, job_id)
    assert find_gaps(database, resting=False) == []


def given(process: Runtime, org: UUID, how: object) -> UUID:
    """A job in this state."""
    if how == "queued":
        return enqueue_one(process.database, org, payload={"n": 1})
    if how == "running":
        job_id = enqueue_one(process.database, org, payload={"n": 1})
        claim_one(process.database, job_id, make_worker(process.database))
        return job_id
    if how == "dead":
        return ended(process, org, Bug("a bug"))
    return ended(process, org, how)
