"""Retention and fan-out are long transactions over many rows; claims and settlements of other jobs wait for neither."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from bench.stores import bulk_sql
from domain.jobs.failures import Failure
from domain.jobs.job import Done, State
from domain.jobs.lifecycle import Settlement
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from storage.jobs import ledger, retention
from storage.mail.accounts import fan_out
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import (
    LEASE,
    claim_one,
    enqueue_one,
    make_job_type,
    make_org,
    make_worker,
    relay_once,
)

JOBS = 30


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, unique_mode="while_active", unique_fields=("account_id",))
    make_job_type(store, "probe.serial", serial_field="account_id")
    database.execute(bulk_sql("add_accounts"), {"accounts": 200})
    return make_org(database)


@contextmanager
def without_waiting(store: Database) -> Iterator[Transaction]:
    """A transaction that fails where it would have to wait for a lock."""
    with store.ledger() as tx:
        tx.raw("set local lock_timeout = '1ms'")
        yield tx


def work(store: Database, job_ids: list[UUID]) -> None:
    """Claim, start and settle, without waiting for anybody."""
    worker = make_worker(store)
    with without_waiting(store) as tx:
        jobs = ledger.claim(tx, job_ids, worker.worker_id, lease=LEASE).jobs
    assert {job.job_id for job in jobs} == set(job_ids)
    with without_waiting(store) as tx:
        ledger.renew_lease(tx, worker, LEASE)
        done = Done()
        settlements = [Settlement(job.job_id, job.token, State.SUCCEEDED, output=done.output) for job in jobs]
        assert not ledger.settle(tx, settlements).refused


def test_a_transaction_without_waiting_fails_where_it_would_wait(store: Database, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org, payload={"account_id": "ann"}))
    with store.ledger() as holder:
        ledger.record_progress(holder, job, {})
        with pytest.raises(Failure), without_waiting(store) as tx:
            ledger.record_progress(tx, job, {})


@pytest.mark.parametrize("job_type", ["probe.run", "probe.serial"])
def test_retention_keeps_nobody_waiting(store: Database, database: Connection, org: UUID, job_type: str) -> None:
    old = [enqueue_one(store, org, job_type, payload={"account_id": f"old {n}"}) for n in range(JOBS)]
    work(store, old)
    new = [enqueue_one(store, org, job_type, payload={"account_id": f"new {n}"}) for n in range(JOBS)]
    with store.ledger() as other:
        assert retention.delete_finished(other, keep_for=timedelta(0), batch=1000).deleted == JOBS
        work(store, new)
        with without_waiting(store) as tx:  # a second one takes what the first has not
            assert retention.delete_finished(tx, keep_for=timedelta(0), batch=1000).deleted == JOBS
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


class Run(Payload, job_type="probe.run", registry=Registry()):
    account_id: UUID


def test_a_fan_out_keeps_nobody_waiting(store: Database, database: Connection, org: UUID) -> None:
    parent = claim_one(store, enqueue_one(store, org, payload={"account_id": "parent"}))
    orgs = [row[0] for row in database.execute("select distinct org_id from accounts")]
    others = [
        enqueue_one(store, tenant, job_type, payload={"account_id": f"other {job_type}"})
        for tenant in orgs
        for job_type in ("probe.run", "probe.serial")
    ]
    with store.ledger() as fanning:
        batch = fan_out.to_accounts(fanning, parent, Run, {}, fan_out.AccountRange())
        assert batch.created == batch.accounts
        work(store, others)
        added = [enqueue_one(store, tenant, payload={"account_id": "added meanwhile"}) for tenant in orgs]
        relay_once(store)
        work(store, added)
    assert database.execute("select count(*) from jobs where state = 'queued'").fetchone() == (batch.created,)
