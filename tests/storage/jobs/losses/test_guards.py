"""The guard of a unique job stands as long as the job, and for its type's time after the job's end."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import State
from storage.jobs import retention
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, pass_time
from tests.storage.jobs.test_ledger import finish


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "deadletter.quarantine", queue="deadletter")
    return make_org(database)


@pytest.mark.parametrize("mode", ["while_queued", "while_active", "for_ttl"])
def test_a_guard_stands_as_long_as_its_job(database: Connection, store: Database, org: UUID, mode: str) -> None:
    make_job_type(store, "probe.unique", unique_mode=mode, keep_key_for=timedelta(hours=1))
    first = enqueue_one(store, org, "probe.unique", run_at=datetime.now(UTC) + timedelta(days=3))
    pass_time(database, timedelta(days=2))
    with store.ledger() as tx:
        retention.purge_expired_keys(tx, batch=1000)
    assert enqueue_one(store, org, "probe.unique") == first
    pass_time(database, timedelta(days=1, seconds=1))
    job = claim_one(store, first)
    finish(store, first, job.token, State.QUEUED)
    pass_time(database, timedelta(days=1))
    assert enqueue_one(store, org, "probe.unique") == first


def test_a_guard_leaves_when_its_time_after_the_end_is_over(database: Connection, store: Database, org: UUID) -> None:
    make_job_type(store, "probe.unique", unique_mode="for_ttl", keep_key_for=timedelta(hours=1))
    job_id = enqueue_one(store, org, "probe.unique")
    pass_time(database, timedelta(days=1))
    finish(store, job_id, claim_one(store, job_id).token, State.DEAD)
    for left, passed in ((1, timedelta(minutes=59)), (0, timedelta(minutes=2))):
        pass_time(database, passed)
        with store.ledger() as tx:
            retention.purge_expired_keys(tx, batch=1000)
        row = database.execute("select count(*) from idempotency_keys where job_id = %s", (job_id,)).fetchone()
        assert row == (left,)
