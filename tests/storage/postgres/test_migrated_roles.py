"""What follows the migrations waits as they do: the roles, which are the whole server's, and the catalogue."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest
from psycopg import Connection, OperationalError, connect
from pydantic import SecretStr
from sqlalchemy import make_url

from domain.jobs.failures import Transient
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseUnavailable, StatementAborted
from storage.postgres.logins import LEDGER_ROLE, ROLES, role_url
from storage.postgres.migrate import PAUSE_S, upgrade
from tests.waiting import until_a_lock_is_waited_for


@pytest.fixture
def settings(own_postgres: PostgresServer) -> Settings:
    """Of a migrated database on a server of the test's own, for a role that is held is held for every database."""
    settings = Settings(database_url=SecretStr(own_postgres.url()))
    upgrade(settings)
    return settings


@pytest.fixture
def other(settings: Settings) -> Iterator[Connection]:
    """A session in an open transaction."""
    with connect(settings.database_url.get_secret_value(), application_name="an administrator") as connection:
        connection.execute("select")
        yield connection


def take_table(tx: Transaction) -> None:
    """As who publishes the catalogue does."""
    tx.raw("lock table job_types in row exclusive mode")


HOLDS = {
    "a lock": "alter role postroom_ledger connection limit 100",
    "job_types": "lock table job_types in share mode",
}
"""What the migrator waits for, as it says, and who has it."""


@pytest.mark.parametrize("what", HOLDS)
def test_who_waits_for_a_role_or_the_catalogue_gives_up_and_names_its_holder(
    settings: Settings, other: Connection, what: str
) -> None:
    other.execute(HOLDS[what].encode())
    with pytest.raises(Transient) as caught:
        upgrade(settings, take_table, wait_s=0)
    holder = f"session {other.info.backend_pid} of postgres (an administrator)"
    assert f"waited too long for {what}, which {holder}" in caught.value.reason


@pytest.mark.parametrize("what", HOLDS)
def test_it_leaves_them_to_others_before_it_tries_again(settings: Settings, other: Connection, what: str) -> None:
    pauses, published = list[float](), list[Transaction]()
    other.execute(HOLDS[what].encode())

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        other.rollback()

    def publish(tx: Transaction) -> None:
        take_table(tx)
        published.append(tx)

    upgrade(settings, publish, pause=pause)
    assert (pauses, len(published)) == ([PAUSE_S], 1)


def test_a_role_that_another_has_changed_meanwhile_is_set_again(
    own_postgres: PostgresServer, settings: Settings, other: Connection
) -> None:
    """PostgreSQL ends whoever waited for that change: tuple concurrently updated."""
    other.execute(HOLDS["a lock"].encode())
    pauses = list[float]()
    with ThreadPoolExecutor(1) as aside, connect(own_postgres.url(), autocommit=True) as looking:
        done = aside.submit(upgrade, settings, pause=pauses.append)
        until_a_lock_is_waited_for(looking, describe="the migrator to wait for the role")
        other.commit()
        done.result(timeout=60)
    assert pauses == [PAUSE_S]


PASSWORD = "hünter2: it's \\ %s"  # the test's own


def test_no_statement_carries_a_password_and_the_password_is_set(own_postgres: PostgresServer) -> None:
    """A statement stands in the server's log and in pg_stat_activity."""
    owner = SecretStr(own_postgres.url())
    given = make_url(own_postgres.url()).set(username=LEDGER_ROLE, password=PASSWORD)
    settings = Settings(database_url=owner, ledger_database_url=SecretStr(given.render_as_string(hide_password=False)))
    with connect(own_postgres.url(), autocommit=True) as superuser:
        superuser.execute("alter system set log_statement = 'all'")
        superuser.execute("alter system set password_encryption = 'md5'")  # the weaker, which a server may prefer
        rules = own_postgres.data / "pg_hba.conf"
        lines = (f"host all {role} 127.0.0.1/32 scram-sha-256\n" for role in ROLES)
        rules.write_text("".join(lines) + rules.read_text())
        superuser.execute("select pg_reload_conf()")
        upgrade(settings)
        changes = [line for line in own_postgres.process.read_log().splitlines() if "alter role" in line]
        kept = superuser.execute("select rolpassword from pg_authid where rolpassword is not null").fetchall()
    passwords = tuple(str(role_url(settings, role).password) for role in ROLES)
    assert [line for line in changes if any(one in line for one in ("hünter2", *passwords[1:]))] == []
    assert len([line for line in changes if "SCRAM-SHA-256$" in line]) == len(kept) == len(passwords)
    for role, password in zip(ROLES, passwords, strict=True):
        connect(own_postgres.url(), user=role, password=password, require_auth="scram-sha-256").close()
        with pytest.raises(OperationalError, match="password authentication failed"):
            connect(own_postgres.url(), user=role, password="another")  # the test's own


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """Let a server and all its sessions stand still in the block."""
    main = psutil.Process(server.process.pid)
    processes = [main, *main.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def test_a_silent_postgresql_ends_a_migration(
    own_postgres: PostgresServer, settings: Settings, other: Connection
) -> None:
    other.execute(HOLDS["job_types"].encode())
    with ThreadPoolExecutor(1) as aside, connect(own_postgres.url(), autocommit=True) as looking:
        done = aside.submit(upgrade, settings, take_table, longest_s=1)
        until_a_lock_is_waited_for(looking, describe="the migrator to wait for the catalogue")
        with frozen(own_postgres), pytest.raises(DatabaseUnavailable):
            done.result(timeout=60)


def test_a_statement_that_takes_too_long_is_ended(settings: Settings) -> None:
    with pytest.raises(StatementAborted):
        upgrade(settings, lambda tx: tx.raw("select pg_sleep(60)"), longest_s=1)
