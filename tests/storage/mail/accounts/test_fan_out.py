"""The fan-out to accounts: in parts that leave nobody out and reach nobody twice."""

from itertools import pairwise
from uuid import UUID

import pytest
from psycopg import Connection

from bench.stores import bulk_sql
from domain.jobs.job import ClaimedJob
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from storage.mail.accounts import fan_out
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

ACCOUNTS = 23


@pytest.fixture
def parent(database: Connection, store: Database) -> ClaimedJob:
    database.execute(bulk_sql("add_accounts"), {"accounts": ACCOUNTS})
    make_job_type(store)
    make_job_type(store, "probe.each", unique_mode="while_queued", unique_fields=("account_id",))
    return claim_one(store, enqueue_one(store, make_org(database)))


def reached(database: Connection) -> list[str]:
    rows = database.execute("select payload ->> 'account_id' from jobs where job_type = 'probe.each' order by 1")
    return [row[0] for row in rows]


class Each(Payload, job_type="probe.each", registry=Registry()):
    account_id: UUID


def active(database: Connection) -> list[str]:
    return [row[0] for row in database.execute("select id::text from accounts where status = 'active' order by 1")]


@pytest.mark.parametrize("batch", [1, 5, ACCOUNTS - 1, ACCOUNTS, ACCOUNTS + 1])
def test_the_parts_reach_each_active_account_once(
    database: Connection, store: Database, parent: ClaimedJob, batch: int
) -> None:
    database.execute(
        "update accounts set status = 'needs_reconsent', status_reason = 'test'"
        " where id in (select id from accounts limit 3)"
    )
    with store.ledger() as tx:
        parts = fan_out.parts(tx, batch)
        assert all(one.upto == next_one.after for one, next_one in pairwise(parts))
        batches = [fan_out.to_accounts(tx, parent, Each, {}, part) for part in parts]
        again = [fan_out.to_accounts(tx, parent, Each, {}, part) for part in parts]
    assert reached(database) == active(database)
    assert sum(one.created for one in batches) == sum(one.accounts for one in batches) == ACCOUNTS - 3
    assert all(one.accounts <= batch for one in batches)
    assert sum(one.created for one in again) == 0


def test_an_account_that_becomes_active_meanwhile_is_reached_too(
    database: Connection, store: Database, parent: ClaimedJob
) -> None:
    late = [row[0] for row in database.execute("select id from accounts order by id")][::7]
    database.execute(
        "update accounts set status = 'needs_reconsent', status_reason = 'test' where id = any (%s)", (late,)
    )
    with store.ledger() as tx:
        parts = fan_out.parts(tx, 4)
    database.execute("update accounts set status = 'active', status_reason = null where id = any (%s)", (late,))
    with store.ledger() as tx:
        for part in parts:
            fan_out.to_accounts(tx, parent, Each, {}, part)
    assert reached(database) == active(database)
    assert {str(one) for one in late} <= set(reached(database))


def test_without_accounts_there_is_one_part_and_nothing_to_do(store: Database, database: Connection) -> None:
    make_job_type(store)
    make_job_type(store, "probe.each")
    parent = claim_one(store, enqueue_one(store, make_org(database)))
    with store.ledger() as tx:
        (part,) = fan_out.parts(tx, 10)
        assert part == (UUID(int=0), UUID(int=2**128 - 1))
        assert fan_out.to_accounts(tx, parent, Each, {}, part) == fan_out.FanOutCount(0, 0)
