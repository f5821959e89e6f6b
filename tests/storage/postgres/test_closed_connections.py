"""The first statement after a restart of PostgreSQL goes over a new connection, and no attempt is spent for it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Barrier
from uuid import UUID

import pytest
from psycopg import Connection

from storage.postgres.database import Database, Transaction
from storage.postgres.execution import ConnectionLost
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


ENDINGS = {
    "idle": "set idle_in_transaction_session_timeout = '20ms'",
    "old": "set transaction_timeout = '20ms'",
    "ended": "select 1",
}
"""How PostgreSQL ends a session. Its errors are of several classes: 25P03, 25P04, and 57P01 by an administrator."""


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", ["the engine's transaction", "a tenant's transaction"])
def test_a_connection_that_was_ended_in_a_transaction_is_lost_whatever_the_error(
    store: Database, database: Connection, way: str, ending: str
) -> None:
    org = make_org(database)

    def use_after_the_end() -> None:
        with WAYS[way](store, org) as tx:
            pid = tx.raw("select pg_backend_pid() as pid")[0].pid
            tx.raw(ENDINGS[ending])
            if ending == "ended":
                database.execute("select pg_terminate_backend(%s)", (pid,))
            there = "select 1 from pg_stat_activity where pid = %s"
            eventually(lambda: not database.execute(there, (pid,)).fetchall(), describe="the session was not ended")
            tx.raw("select 1")

    with pytest.raises(ConnectionLost):
        use_after_the_end()
    with WAYS[way](store, org) as tx:
        assert tx.raw("select 7 as answer")[0].answer == 7
