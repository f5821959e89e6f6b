"""What a finished job left stays for as long as a relative works with it: its parent, or a child."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger, retention
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW

WEEK = timedelta(days=7)


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def finish(store: Database, database: Connection, job_id: UUID) -> None:
    """End a job, a month ago."""
    job = claim_one(store, job_id)
    with store.ledger() as tx:
        ledger.settle(tx, [settlement_of(job, Done({"answer": 7}), STANDARD, NOW, 0.0)])
    database.execute("update jobs set finished_at = now() - interval '30 days' where id = %s", (job_id,))


def clean_up(store: Database) -> int:
    with store.statements() as tx:
        return retention.delete_finished(tx, keep_for=WEEK, batch=100).deleted


def outputs(database: Connection) -> dict[UUID, object]:
    return dict(database.execute("select id, output from jobs where finished_at is not null").fetchall())


def test_a_childs_output_waits_for_its_parent(store: Database, org: UUID, database: Connection) -> None:
    parent = enqueue_one(store, org)
    child = enqueue_one(store, org, parent_id=parent)
    finish(store, database, child)
    assert clean_up(store) == 0
    assert outputs(database) == {child: {"answer": 7}}
    finish(store, database, parent)
    assert clean_up(store) == 2


def test_a_parents_output_waits_for_its_children(store: Database, org: UUID, database: Connection) -> None:
    parent = enqueue_one(store, org)
    children = [enqueue_one(store, org, parent_id=parent) for _ in range(2)]
    finish(store, database, parent)
    finish(store, database, children[0])
    assert clean_up(store) == 1
    assert outputs(database) == {parent: {"answer": 7}}
    finish(store, database, children[1])
    assert clean_up(store) == 2


def test_a_chain_without_end_keeps_its_last_link_alone(store: Database, org: UUID, database: Connection) -> None:
    """A job that enqueues its own successor must not keep all its predecessors."""
    chain = [enqueue_one(store, org)]
    for _ in range(4):
        chain.append(enqueue_one(store, org, parent_id=chain[-1]))
        finish(store, database, chain[-2])
    assert clean_up(store) == 3
    assert set(outputs(database)) == {chain[-2]}


def test_a_job_whose_parent_is_gone_leaves(store: Database, org: UUID, database: Connection) -> None:
    parent = enqueue_one(store, org)
    child = enqueue_one(store, org, parent_id=parent)
    database.execute("delete from jobs where id = %s", (parent,))
    finish(store, database, child)
    assert clean_up(store) == 1
