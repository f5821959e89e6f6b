"""A plan that was made while the ledger was small, and is kept, reads no whole ledger when that has grown."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import NewJob, State
from domain.jobs.lifecycle import Settlement
from settings import Settings
from storage.jobs import ledger
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org, make_worker

CALLS = 8
"""More than PostgreSQL needs to keep a plan."""
GROWN = 3_000
MOST_ROWS = 60
"""Of `jobs`, for one job: far fewer than a whole ledger has."""

READ = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'jobs'"


@pytest.fixture
def small(settings: Settings, database: Connection) -> Iterator[Database]:
    """A new ledger that knows of no job, as after an installation, and that nobody analyses."""
    database.execute("alter table jobs set (autovacuum_enabled = off)")
    database.execute("vacuum analyze jobs, idempotency_keys")
    store = Database(settings)
    make_job_type(store)
    yield store
    store.dispose()


def test_what_is_done_for_one_job_reads_one_job(small: Database, database: Connection) -> None:
    org, worker = make_org(database), make_worker(small)

    def enqueue(count: int) -> list[UUID]:
        jobs = [NewJob("probe.run", org, {}) for _ in range(count)]
        with small.ledger() as tx:
            return [made.job_id for made in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT)]

    def rows(tx: Transaction) -> int:
        return int(tx.raw(READ)[0][0])

    def live(job_id: UUID) -> dict[str, int]:
        """Claim, begin and settle a job on one connection; how many rows of `jobs` each statement read."""
        read: dict[str, int] = {}
        with small.pinned_transaction() as tx:
            (job,) = ledger.claim(tx, [job_id], worker.worker_id, lease=timedelta(minutes=1)).jobs
            read["claim"] = rows(tx)
            ledger.record_starts(tx, [(job.job_id, job.token, job.created_at)])
            read["start"] = rows(tx) - read["claim"]
            ledger.settle(tx, [Settlement(job.job_id, job.token, State.SUCCEEDED)])
            read["settle"] = rows(tx) - read["claim"] - read["start"]
        return read

    for job_id in enqueue(CALLS):
        live(job_id)
    *_, last = enqueue(GROWN)
    read = live(last)
    assert max(read.values()) < MOST_ROWS, read
