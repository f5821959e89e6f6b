"""What a handler's own settlement refuses, and in which order settlements lock jobs."""

import threading
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.failures import Invalid
from domain.jobs.job import Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW
from tests.waiting import until_a_lock_is_waited_for


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


@pytest.mark.parametrize(
    ("odd", "field"),
    [
        ({"began_at": "infinity"}, "began_at"),
        ({"began_at": "-infinity"}, "began_at"),
        ({"began_at": "20000-01-01"}, "began_at"),
        ({"output": "5"}, "output"),
        ({"output": "null"}, "output"),
        ({"cost": -1}, "cost"),
    ],
)
def test_what_nobody_could_read_is_refused(
    store: Database, database: Connection, org: UUID, odd: dict[str, Any], field: str
) -> None:
    job = claim_one(store, enqueue_one(store, org))
    given = {"job": job.job_id, "token": job.token, "output": "{}", "cost": 0, "began_at": "2026-01-01"} | odd
    call = (
        "select * from postroom.settle_held("
        "%(job)s, %(token)s, %(output)s::jsonb, %(cost)s::bigint, %(began_at)s::timestamptz)"
    )
    with pytest.raises(Invalid) as refused, store.claimed(org, job.job_id, job.token) as tx:
        tx.raw(call, given)
    assert refused.value.field == field
    assert database.execute("select state from jobs").fetchall() == [("running",)]


def test_settlements_lock_jobs_by_their_ids(
    store: Database, database: Connection, database_url: str, org: UUID
) -> None:
    """Two statements that settle the same jobs in different orders would wait for each other."""
    low, high = sorted((claim_one(store, enqueue_one(store, org)) for _ in range(2)), key=lambda job: job.job_id)

    def settle() -> None:
        with store.statements() as tx:
            # The plan for a table of more than two rows.
            tx.raw("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off")
            tx.raw("set lock_timeout = 0")
            ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in (high, low)])
            tx.raw("reset all")

    with connect(database_url) as other:
        other.execute("select from jobs where id = %s for update", (low.job_id,))
        thread = threading.Thread(target=settle)
        thread.start()
        until_a_lock_is_waited_for(database, describe="the settlement waits")
        assert other.execute("select id from jobs for update skip locked").fetchall() == [
            (low.job_id,),
            (high.job_id,),
        ]
        other.commit()
        thread.join()
    assert database.execute("select state from jobs").fetchall() == [("succeeded",)] * 2
