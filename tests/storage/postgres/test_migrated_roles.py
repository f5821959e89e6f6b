"""What follows the migrations waits as they do: the roles, which are the whole server's, and the catalogue."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest
from psycopg import Connection, OperationalError, connect
from pydantic import SecretStr
from sqlalchemy import make_url
from structlog.testing import capture_logs

from domain.jobs.failures import Transient
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseUnavailable
from storage.postgres.logins import LEDGER_ROLE, TENANT_ROLE, role_password
from storage.postgres.migrate import PAUSE_S, upgrade
from storage.postgres.migration_session import MIGRATING, ONE_AT_A_TIME
from tests.waiting import eventually, until_a_lock_is_waited_for


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
    "pg_authid": "alter role postroom_ledger connection limit 100",
    "job_types": "lock table job_types in share mode",
}


@pytest.mark.parametrize("table", HOLDS)
@pytest.mark.parametrize("limit", ["0", "1ms"])
def test_who_waits_for_a_role_or_the_catalogue_says_so_and_gives_up(
    settings: Settings, other: Connection, table: str, limit: str
) -> None:
    url = f"{settings.database_url.get_secret_value()}?options=-c%20lock_timeout%3D{limit}"
    other.execute(HOLDS[table].encode())
    holder = f"session {other.info.backend_pid} of postgres (an administrator)"
    with capture_logs() as logged, pytest.raises(Transient) as caught:
        upgrade(Settings(database_url=SecretStr(url)), take_table, wait_s=0)
    assert f"waited too long for {table}, which {holder}" in caught.value.reason
    (line,) = [each for each in logged if each["event"] == "migration_waits"]
    assert (line["table"], line["holder"].startswith(holder)) == (table, True)


@pytest.mark.parametrize("table", HOLDS)
def test_it_leaves_them_to_others_before_it_tries_again(settings: Settings, other: Connection, table: str) -> None:
    pauses, published = list[float](), list[Transaction]()
    other.execute(HOLDS[table].encode())

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
    other.execute(HOLDS["pg_authid"].encode())
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
        lines = (f"host all {role} 127.0.0.1/32 scram-sha-256\n" for role in (LEDGER_ROLE, TENANT_ROLE))
        rules.write_text("".join(lines) + rules.read_text())
        superuser.execute("select pg_reload_conf()")
        upgrade(settings)
        changes = [line for line in own_postgres.process.read_log().splitlines() if "alter role" in line]
        kept = superuser.execute("select rolpassword from pg_authid where rolpassword is not null").fetchall()
    passwords = PASSWORD, role_password(settings, TENANT_ROLE)
    assert [line for line in changes if "hünter2" in line or passwords[1] in line] == []
    assert len([line for line in changes if "SCRAM-SHA-256$" in line]) == len(kept) == len(passwords)
    for role, password in zip((LEDGER_ROLE, TENANT_ROLE), passwords, strict=True):
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


@pytest.mark.parametrize("is_watch_ended", [False, True])
def test_a_silent_postgresql_ends_a_migration(
    own_postgres: PostgresServer, settings: Settings, other: Connection, *, is_watch_ended: bool
) -> None:
    """Also when somebody has ended the session that looks, which opens another."""
    other.execute(HOLDS["job_types"].encode())
    with (
        ThreadPoolExecutor(1) as aside,
        capture_logs() as logged,
        connect(own_postgres.url(), autocommit=True) as looking,
    ):
        done = aside.submit(upgrade, settings, take_table, silent_s=1)
        until_a_lock_is_waited_for(looking, describe="the migrator to wait for the catalogue")
        if is_watch_ended:
            eventually(lambda: end_watch(looking), describe="the session that looks")
            eventually(lambda: events(logged)["migration_not_watched"], describe="a line that nobody looks")
        with frozen(own_postgres), pytest.raises(DatabaseUnavailable) as caught:
            done.result(timeout=60)
    assert caught.value.diagnosis.finding.startswith("it has not answered for ")
    assert events(logged)["migration_unanswered"] == 1
    assert events(logged)["migration_not_watched"] == is_watch_ended


def test_a_watch_that_is_ended_again_and_again_says_so_once(settings: Settings, other: Connection) -> None:
    other.execute(HOLDS["job_types"].encode())
    with (
        ThreadPoolExecutor(1) as aside,
        capture_logs() as logged,
        connect(settings.database_url.get_secret_value(), autocommit=True) as looking,
    ):
        done = aside.submit(upgrade, settings, take_table, silent_s=1)
        try:
            for _ in range(2):
                eventually(lambda: end_watch(looking), describe="the session that looks")
            eventually(lambda: events(logged)["migration_waits"], describe="the holder to be named by the third")
        finally:
            other.rollback()
        done.result(timeout=60)
    assert events(logged) == {"migration_not_watched": 1, "migration_waits": 1}


def end_watch(looking: Connection) -> bool:
    """End the session that looks whom a migrator waits for; False when there is none."""
    end = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = %s"
    return looking.execute(end, (f"{MIGRATING}: watch",)).fetchone() is not None


def events(logged: Sequence[Mapping[str, object]]) -> Counter[object]:
    """How often each event was logged by our own code."""
    return Counter(line["event"] for line in logged)


def test_a_silent_postgresql_ends_who_asks_for_a_turn(own_postgres: PostgresServer, settings: Settings) -> None:
    suspended = list[psutil.Process]()
    with connect(own_postgres.url()) as first, connect(own_postgres.url(), autocommit=True) as looking:
        first.execute("select pg_advisory_lock(%s)", (ONE_AT_A_TIME,))

        def pause(_seconds: float) -> None:
            asks = "select pid from pg_stat_activity where application_name = %s"
            ((pid,),) = looking.execute(asks, (MIGRATING,)).fetchall()
            suspended.append(psutil.Process(pid))
            suspended[-1].suspend()

        try:
            with pytest.raises(DatabaseUnavailable):
                upgrade(settings, silent_s=1, pause=pause)
        finally:
            for process in suspended:
                process.resume()
    assert len(suspended) == 1
