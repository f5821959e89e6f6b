"""A server that answers and takes no writes is waited for as one that is away, and is told with its cause."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import SecretStr

from commands.doctor import examine
from domain.jobs.job import SYSTEM_ORG
from engine.runtime import Runtime
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.jobs.leadership import Leadership
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable, diagnosis_of, is_away
from storage.postgres.migrate import upgrade
from storage.postgres.readiness import Check, database_checks
from storage.postgres.writes import READ_ONLY, STANDBY
from tests.doubles.factories import make_org
from tests.gateway.serving import ask, serve
from tests.waiting import eventually

ADD = "insert into orgs (name) values ('x')"


def write_in_transaction(store: Database) -> None:
    with store.ledger() as tx:
        tx.raw(ADD)


def write_by_itself(store: Database) -> None:
    with store.statements() as tx:
        tx.raw(ADD)


def write_pinned(store: Database) -> None:
    with store.pinned() as tx:
        tx.raw(ADD)


def lock_as_handler(store: Database) -> None:
    with store.tenant(SYSTEM_ORG) as tx:
        tx.raw("select from accounts for update")


def lead(store: Database) -> None:
    with store.session() as session:
        Leadership(session, uuid4()).take()


def listen(store: Database) -> None:
    with store.session() as session:
        session.execute("listen postroom_due")


WAYS: tuple[Callable[[Database], None], ...] = (
    write_in_transaction,
    write_by_itself,
    write_pinned,
    lock_as_handler,
    lead,
    listen,
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A migrated server that can become a standby."""
    with PostgresServer(tmp_path / "postgres") as started:
        upgrade(Settings(database_url=SecretStr(started.url())))
        yield started


def writes_of(store: Database) -> Check:
    return {check.name: check for check in database_checks(store)}["writes"]


def test_a_standby_is_waited_for_and_named_until_it_takes_writes(server: PostgresServer, broker_url: str) -> None:
    settings = Settings(database_url=SecretStr(server.url()), broker_url=SecretStr(broker_url))
    process = Runtime(settings)
    assert writes_of(process.database).ok
    server.become_standby()
    for write in WAYS:
        with pytest.raises(DatabaseUnavailable) as refused:
            write(process.database)
        assert (is_away(refused.value), diagnosis_of(refused.value)) == (True, STANDBY)
        assert refused.value.reason == STANDBY.finding
    told = {check.name: check for check in examine(process)}
    assert told["writes"].finding == "PostgreSQL: it takes no writes: it is a standby"
    assert (told["writes"].remedy, told["writes"].lasts) == (STANDBY.remedy, False)
    assert told["migrations"].ok, "it answers, and is asked the rest"
    with serve(settings) as gateway:
        answer = ask(f"{gateway}/readyz")
        assert (answer.status, answer.json["checks"]["writes"]["finding"]) == (503, told["writes"].finding)
        server.promote()
        assert ask(f"{gateway}/readyz").json["checks"]["writes"]["ok"]
    for write in WAYS:
        write(process.database)
    process.close()


def test_a_standby_that_is_promoted_in_the_midst_of_a_transaction_is_waited_for(server: PostgresServer) -> None:
    """The transaction stays one that only reads, and the server reports with its refusal that it is no standby."""
    store = Database(Settings(database_url=SecretStr(server.url())))
    server.become_standby()
    with pytest.raises(DatabaseUnavailable) as refused, store.ledger() as tx:
        tx.raw("select from orgs")
        server.promote()
        tx.raw(ADD)
    assert diagnosis_of(refused.value) == STANDBY
    write_in_transaction(store)
    store.dispose()


def test_sessions_that_only_read_by_default_are_named_and_given_up(store: Database) -> None:
    with store.statements() as tx:
        tx.raw("set default_transaction_read_only = on")
    with pytest.raises(DatabaseUnavailable) as refused:
        write_by_itself(store)
    assert diagnosis_of(refused.value) == READ_ONLY
    write_by_itself(store)
    with store.statements() as tx:
        tx.raw("set default_transaction_read_only = on")
    assert writes_of(store).finding == f"PostgreSQL: {READ_ONLY.finding}"
    assert writes_of(store).ok, "the next question goes over another connection"


def test_a_transaction_that_a_handler_made_read_only_is_not_waited_for(
    store: Database, database: psycopg.Connection
) -> None:
    org: UUID = make_org(database)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), store.tenant(org) as tx:
        tx.raw("set transaction read only")
        tx.raw("select from accounts for update")
    assert writes_of(store).ok


ONLY_READ = {
    "database": "alter database {database} set default_transaction_read_only = on",
    "role": "alter role postroom_ledger in database {database} set default_transaction_read_only = on",
    "every role": "alter role all in database {database} set default_transaction_read_only = on",
}


def stop_writes(server: PostgresServer, place: str) -> None:
    """Do as an operator who wants no more writes; sessions that begin from now on obey."""
    with psycopg.connect(server.url(), autocommit=True) as operator:
        operator.execute(ONLY_READ[place].format(database=operator.info.dbname).encode())


def let_write(server: PostgresServer, place: str) -> None:
    """Undo it, by a session to which it does not apply."""
    with psycopg.connect(server.url(), autocommit=True, options="-c default_transaction_read_only=off") as operator:
        change = ONLY_READ[place].format(database=operator.info.dbname).replace("= on", "= off")
        operator.execute(change.encode())


@pytest.mark.parametrize("place", ONLY_READ)
def test_who_sets_sessions_to_only_read_stops_the_fleet(server: PostgresServer, place: str) -> None:
    stop_writes(server, place)
    store = Database(Settings(database_url=SecretStr(server.url())))
    assert (writes_of(store).ok, writes_of(store).finding) == (False, f"PostgreSQL: {READ_ONLY.finding}")
    ways = [write for write in WAYS if write is not listen and (write is not lock_as_handler or place != "role")]
    for write in ways:
        with pytest.raises(DatabaseUnavailable) as refused:
            write(store)
        assert (is_away(refused.value), diagnosis_of(refused.value)) == (True, READ_ONLY)
    let_write(server, place)
    for write in ways:
        write(store)
    assert writes_of(store).ok
    store.dispose()


def test_open_sessions_obey_a_setting_of_the_server(server: PostgresServer) -> None:
    store = Database(Settings(database_url=SecretStr(server.url())))
    for write in WAYS:
        write(store)
    with psycopg.connect(server.url(), autocommit=True) as operator:
        operator.execute("alter system set default_transaction_read_only = on")
        operator.execute("select pg_reload_conf()")
        eventually(
            lambda: operator.execute("show default_transaction_read_only").fetchone() == ("on",),
            describe="the server's new setting",
        )
        eventually(lambda: not writes_of(store).ok, describe="the fleet's sessions to obey it")
        with pytest.raises(DatabaseUnavailable) as refused:
            lock_as_handler(store)
        assert diagnosis_of(refused.value) == READ_ONLY
    store.dispose()


def test_a_handler_that_alters_its_role_stops_nobody(store: Database, database: psycopg.Connection) -> None:
    org: UUID = make_org(database)
    alter = f"alter role postroom_tenant in database {database.info.dbname} set default_transaction_read_only = on"
    with store.tenant(org) as tx:
        tx.raw(alter)
    store.renew()
    with store.tenant(org) as tx:
        assert tx.raw("show default_transaction_read_only")[0][0] == "off"
        tx.raw("set default_transaction_read_only = on")
    with store.tenant(org) as tx:
        assert tx.raw("show default_transaction_read_only")[0][0] == "off", "it is what a reset goes back to"
    assert writes_of(store).ok


def test_a_standby_is_not_migrated(server: PostgresServer) -> None:
    server.become_standby()
    with pytest.raises(DatabaseUnavailable) as refused:
        upgrade(Settings(database_url=SecretStr(server.url())))
    assert diagnosis_of(refused.value) == STANDBY


@pytest.mark.parametrize("is_new", [False, True])
def test_a_database_that_only_reads_is_not_migrated(own_postgres: PostgresServer, *, is_new: bool) -> None:
    settings = Settings(database_url=SecretStr(own_postgres.url()))
    if not is_new:
        upgrade(settings)
    stop_writes(own_postgres, "database")
    with pytest.raises(DatabaseUnavailable) as refused:
        upgrade(settings)
    assert diagnosis_of(refused.value) == READ_ONLY
    let_write(own_postgres, "database")
    upgrade(settings)
