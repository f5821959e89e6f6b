"""The first statement after a restart of PostgreSQL goes over a new connection, and no attempt is spent for it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Barrier
from uuid import UUID

import pytest
from psycopg import Connection

from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_org
from tests.waiting import eventually

CONNECTIONS = 4
OURS = "from pg_stat_activity where datname = current_database() and usename like 'postroom_%'"

Open = Callable[[Database, UUID], AbstractContextManager[Transaction]]
WAYS: dict[str, Open] = {
    "a statement": lambda store, _: store.statements(),
    "the engine's transaction": lambda store, _: store.ledger(),
    "a tenant's transaction": lambda store, org: store.tenant(org),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_pool_whose_connections_were_all_closed_answers_at_once(
    store: Database, database: Connection, way: str
) -> None:
    org, together = make_org(database), Barrier(CONNECTIONS)

    def use(*, fill: bool) -> int:
        with WAYS[way](store, org) as tx:
            if fill:
                together.wait()
            return int(tx.raw("select 1 as one")[0].one)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda _: use(fill=True), range(CONNECTIONS)))
    database.execute(f"select pg_terminate_backend(pid) {OURS}")
    eventually(lambda: not database.execute(f"select {OURS}").fetchall(), describe="their connections are closed")
    assert [use(fill=False) for _ in range(CONNECTIONS)] == [1] * CONNECTIONS
