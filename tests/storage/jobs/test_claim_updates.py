"""What a claim costs the tables: no index changes by it."""

from uuid import uuid4

from psycopg import Connection

from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import LEASE, enqueue_one, make_job_type, make_org
from tests.waiting import eventually


def test_a_claim_is_a_heap_only_update(database: Connection, store: Database) -> None:
    """No index has to change when a job is claimed: an index that named the state would end that."""
    make_job_type(store)
    org = make_org(database)
    ids = [enqueue_one(store, org) for _ in range(20)]
    before = hot_updates(database)
    with store.ledger() as tx:
        claimed = ledger.claim(tx, ids, uuid4(), lease=LEASE)
        tx.raw("select pg_stat_force_next_flush()")
    assert len(claimed.jobs) == 20
    # A page filled to 70% has room for some of its rows' next versions; with an index in the way it would be none.
    assert eventually(lambda: hot_updates(database) - before, within=5, describe="the claims' statistics") >= 5


def hot_updates(database: Connection) -> int:
    database.execute("select pg_stat_force_next_flush()")
    row = database.execute("select n_tup_hot_upd from pg_stat_user_tables where relname = 'jobs'").fetchone()
    assert row is not None
    return int(row[0])
