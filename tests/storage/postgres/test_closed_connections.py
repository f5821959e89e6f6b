"""The first statement after a restart of PostgreSQL goes over a new connection, and no attempt is spent for it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Barrier, Thread
from uuid import UUID

import pytest
from psycopg import Connection
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.tcp_proxy import TcpProxy
from settings import Settings
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import ConnectionLost, DatabaseUnavailable
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


class GreetsAndCloses(BaseRequestHandler):
    """Says that the session may begin, and ends the session: PostgreSQL behind a proxy whose other side is away."""

    def handle(self) -> None:
        self.request.recv(8)
        self.request.sendall(b"N")  # no TLS
        self.request.recv(65_536)
        authenticated, ready = b"R" + (8).to_bytes(4) + bytes(4), b"Z" + (5).to_bytes(4) + b"I"
        self.request.sendall(authenticated + ready)


@pytest.mark.parametrize("way", [*WAYS, "the kept connection"])
def test_sessions_that_are_closed_as_soon_as_they_begin_are_a_database_that_is_away(
    settings: Settings, database: Connection, way: str
) -> None:
    url = make_url(settings.database_url.get_secret_value())
    opened, org = (WAYS | {"the kept connection": lambda store, _: store.pinned()})[way], make_org(database)
    with ThreadingTCPServer((LOOPBACK, 0), GreetsAndCloses) as server, TcpProxy(url.port or 0) as proxy:
        Thread(target=server.serve_forever, daemon=True).start()
        through = SecretStr(url.set(port=proxy.port).render_as_string(hide_password=False))
        store = Database(settings.model_copy(update={"database_url": through}))
        with opened(store, org) as tx:
            tx.raw("select 1")
        proxy.upstream, good = server.server_address[1], proxy.upstream
        proxy.cut()
        for _ in range(20):
            with pytest.raises(DatabaseUnavailable), opened(store, org) as tx:
                tx.raw("select 1")
        proxy.upstream = good
        with opened(store, org) as tx:
            assert tx.raw("select 7 as answer")[0].answer == 7
        store.dispose()
        server.shutdown()
