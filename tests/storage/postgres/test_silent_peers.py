"""A peer that takes every byte and never answers, or too slowly: the connection is given up, and the next one works."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from domain.jobs.failures import Failure
from sandbox.servers.tcp_proxy import TcpProxy
from settings import Settings
from storage.postgres import bounded
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import ConnectionLost, DatabaseUnavailable, StatementAborted
from tests.doubles.factories import make_org
from tests.waiting import eventually

Opened = Callable[[Database, UUID], AbstractContextManager[Transaction]]

WAYS: dict[str, Opened] = {
    "ledger": lambda store, _org: store.ledger(),
    "statements": lambda store, _org: store.statements(),
    "pinned": lambda store, _org: store.pinned(),
    "tenant": lambda store, org: store.tenant(org),
}


@pytest.fixture
def proxy(settings: Settings) -> Iterator[TcpProxy]:
    port = make_url(settings.database_url.get_secret_value()).port
    assert port is not None
    with TcpProxy(port) as proxy:
        yield proxy


@pytest.fixture
def through(settings: Settings, proxy: TcpProxy) -> Iterator[Database]:
    """The test's database behind the proxy, with short limits."""
    url = make_url(settings.database_url.get_secret_value()).set(port=proxy.port)
    given = {
        "database_url": SecretStr(url.render_as_string(hide_password=False)),
        "statement_timeout_s": 0.5,
        "database_pool_size": 3,
    }
    store = Database(settings.model_copy(update=given))
    yield store
    store.dispose()


def ask(opened: AbstractContextManager[Transaction]) -> int:
    with opened as tx:
        return int(tx.raw("select 7 as answer")[0].answer)


@pytest.mark.parametrize("way", WAYS)
def test_a_silenced_connection_is_given_up_and_the_next_one_works(
    through: Database, proxy: TcpProxy, database: Connection, way: str
) -> None:
    org = make_org(database)
    assert ask(WAYS[way](through, org)) == 7
    proxy.silence()
    if way != "tenant":  # there the first statement is the engine's, which is repeated
        with pytest.raises(ConnectionLost):
            ask(WAYS[way](through, org))
    assert ask(WAYS[way](through, org)) == 7


def test_one_overdue_answer_ends_all_connections_that_rest_in_the_pools(
    through: Database, proxy: TcpProxy, database: Connection
) -> None:
    org = make_org(database)
    with through.ledger() as first, through.ledger() as second, through.tenant(org) as third:
        for tx in (first, second, third):
            tx.raw("select 1")
    assert ask(through.pinned()) == 7
    proxy.silence()
    with pytest.raises(ConnectionLost):
        ask(through.pinned())
    for opened in (through.ledger(), through.statements(), through.tenant(uuid4()), through.pinned()):
        assert ask(opened) == 7


def test_an_answer_that_trickles_is_overdue(through: Database, proxy: TcpProxy) -> None:
    assert ask(through.pinned()) == 7
    proxy.trickle(every_s=0.3)
    with pytest.raises(ConnectionLost):
        ask(through.pinned())
    proxy.trickle(every_s=None)
    assert ask(through.pinned()) == 7


def test_a_commit_that_is_not_answered_raises(through: Database, proxy: TcpProxy) -> None:
    def lose_the_answer() -> None:
        with through.ledger() as tx:
            tx.raw("select 1")
            proxy.silence()

    with pytest.raises(DatabaseUnavailable):
        lose_the_answer()


def test_a_greeting_that_trickles_is_given_up(through: Database, proxy: TcpProxy) -> None:
    proxy.trickle(every_s=0.3)
    with pytest.raises(DatabaseUnavailable):
        ask(through.statements())


def test_the_relays_session_is_bounded_too(through: Database, proxy: TcpProxy) -> None:
    def ask_in_session() -> None:
        with through.session() as session:
            session.execute("select 1")
            list(session.notifies(timeout=0.01))  # who waits for a notification has asked for nothing
            proxy.silence()
            session.execute("select 1")

    with pytest.raises(Failure):
        ask_in_session()


def test_a_statement_within_its_limit_and_an_error_of_postgresqls_leave_the_connection(through: Database) -> None:
    def own_backend() -> int:
        with through.statements() as tx:
            return int(tx.raw("select pg_backend_pid() as pid, pg_sleep(0.1)")[0].pid)

    before = own_backend()
    with pytest.raises(psycopg.Error), through.statements() as tx:
        tx.raw("select no_such_column")
    with pytest.raises(StatementAborted), through.statements() as tx:
        tx.raw("select pg_sleep(5)")
    assert own_backend() == before


def test_every_network_limit_of_libpqs_is_set(through: Database) -> None:
    with through.session() as session:
        given = session.info.get_parameters()
    assert {name: int(given[name]) for name in bounded.NETWORK if name in given} == bounded.NETWORK


def test_a_client_that_gives_up_ends_its_statement_and_lets_go_of_its_locks(
    settings: Settings, database: Connection
) -> None:
    """A handler's SQL may have lifted its own time limits."""
    org = make_org(database)
    store = Database(settings.model_copy(update={"statement_timeout_s": 0.1}))
    lifted = "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0"
    with pytest.raises(ConnectionLost), store.tenant(org) as tx:
        for each in lifted.split("; "):
            tx.raw(each)
        tx.raw("select pg_sleep(60)")
    busy = "select count(*) from pg_stat_activity where datname = current_database() and usename = 'postroom_tenant'"
    eventually(lambda: database.execute(busy).fetchone() == (0,), describe="the session to end")
    store.dispose()
