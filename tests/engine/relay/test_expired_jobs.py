"""A job that expires where nobody claims it, behind a gate or a concurrency key, ends and lets go of its unique key."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import NewJob
from engine.relay.unpark import Unparker
from engine.runtime import Runtime
from storage.jobs import gates, ledger
from storage.jobs.gates import Gate
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, pass_time
from tests.invariants import find_gaps


def parked(process: Runtime, org: UUID, database: Connection, by: str) -> UUID:
    """A job that waits for a gate, or for a key, and expires in a minute."""
    make_job_type(
        process.database, "probe.one", unique_mode="while_active", unique_fields=("n",), serial_field="account_id"
    )
    if by == "gate":
        with process.database.ledger() as tx:
            gates.close(tx, Gate("org", str(org), "a pause", None, "ada"))
    else:
        claim_one(
            process.database, enqueue_one(process.database, org, "probe.one", payload={"n": 1, "account_id": "a"})
        )
    soon = datetime.now(UTC) + timedelta(minutes=1)
    job_id = enqueue_one(process.database, org, "probe.one", payload={"n": 2, "account_id": "a"}, expires_at=soon)
    with process.database.ledger() as tx:
        ledger.claim(tx, [job_id], process.worker.worker_id, lease=process.lease.length)
    row = database.execute("select parked_by from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    assert str(row[0]).startswith(by)
    return job_id


@pytest.mark.parametrize("by", ["gate", "key"])
def test_an_expired_job_that_is_parked_ends_and_frees_its_key(
    process: Runtime, database: Connection, org: UUID, by: str
) -> None:
    job_id = parked(process, org, database, by)
    Unparker(process).turn()
    assert database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("queued",)
    pass_time(database, timedelta(minutes=2))
    Unparker(process).turn()
    row = database.execute("select state, cancel_reason from jobs where id = %s", (job_id,)).fetchone()
    assert row == ("canceled", "expired")
    again = NewJob("probe.one", org, {"n": 2, "account_id": "a"})
    with process.database.ledger() as tx:
        assert ledger.enqueue(tx, [again], publisher=True, hint_timeout=HINT_TIMEOUT)[0].created
    assert find_gaps(database, resting=False) == []
