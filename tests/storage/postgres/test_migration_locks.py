"""A migration that waits keeps nobody waiting behind it for long, and says whom it waits for (promise P11)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from psycopg import Connection, connect
from pydantic import SecretStr
from structlog.testing import capture_logs

from domain.jobs.failures import Transient
from settings import Settings
from storage.postgres.migrate import MIGRATIONS, ONE_AT_A_TIME, PAUSE_S, configuration, upgrade
from tests.waiting import eventually, until_a_lock_is_waited_for

BEFORE_NEW_COLUMNS = "0031_pre_full_sync"
"""0032 adds a column to `emails`, which takes the whole table."""
BEFORE_TWO_TABLES = "0032_pre_audit_vacuum"
"""0033 adds columns to `accounts` and then to `agent_runs`."""

MIGRATOR = "select pid from pg_locks where locktype = 'advisory' and granted"
"""The session that keeps other migrators out."""


@pytest.fixture
def half_migrated(empty_database_url: str) -> str:
    command.upgrade(configuration(Settings(database_url=SecretStr(empty_database_url))), BEFORE_NEW_COLUMNS)
    return empty_database_url


@pytest.fixture
def reader(half_migrated: str) -> Iterator[Connection]:
    """A session that stays in a transaction in which it has read a table."""
    with connect(half_migrated, application_name="a report") as connection:
        connection.execute("select from emails")
        yield connection


def test_the_fleet_reads_a_table_that_a_migration_waits_for(empty_database_url: str) -> None:
    settings = Settings(database_url=SecretStr(empty_database_url))
    command.upgrade(configuration(settings), BEFORE_NEW_COLUMNS)
    with (
        ThreadPoolExecutor(1) as aside,
        connect(empty_database_url, autocommit=True) as fleet,
        connect(empty_database_url) as reader,  # closed first: what waits for it ends, whatever comes of the test
    ):
        reader.execute("select from emails")
        fleet.execute(f"set statement_timeout = '{settings.statement_timeout_s:g}s'")  # as its processes do
        done = aside.submit(upgrade, settings)
        until_a_lock_is_waited_for(fleet, describe="the migration to wait for the table")
        assert fleet.execute("select count(*) from emails").fetchone() == (0,)
        assert not done.done()
        reader.rollback()
        done.result(timeout=60)
        newest = (MIGRATIONS / "HEAD").read_text().strip()
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(newest,)]


def test_it_leaves_the_table_to_others_before_it_tries_again(empty_database_url: str) -> None:
    settings = Settings(database_url=SecretStr(empty_database_url))
    command.upgrade(configuration(settings), BEFORE_NEW_COLUMNS)
    pauses = list[float]()
    with connect(empty_database_url) as reader:
        reader.execute("select from emails")

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            reader.rollback()

        upgrade(settings, wait_s=20, pause=pause)
    assert pauses == [PAUSE_S]


def test_a_time_limit_of_the_owner_s_sessions_lets_no_other_migrator_in(half_migrated: str, reader: Connection) -> None:
    limits = "?options=-c%20idle_in_transaction_session_timeout%3D200%20-c%20transaction_timeout%3D1s"
    settings = Settings(database_url=SecretStr(half_migrated + limits))
    with ThreadPoolExecutor(1) as aside, connect(half_migrated, autocommit=True) as fleet:
        done = aside.submit(upgrade, settings)
        try:
            waits = f"select from pg_stat_activity join ({MIGRATOR}) using (pid) where now() - xact_start > '1500 ms'"
            eventually(
                lambda: done.done() or fleet.execute(waits).fetchone() is not None,
                describe="the migrator to outlast the limits",
            )
            assert not done.done()
        finally:
            reader.rollback()
        done.result(timeout=60)


def test_a_migrator_that_gives_up_names_the_table_and_who_has_it(half_migrated: str, reader: Connection) -> None:
    with capture_logs() as logged, pytest.raises(Transient) as caught:
        upgrade(Settings(database_url=SecretStr(half_migrated)), wait_s=0)
    holder = f"session {reader.info.backend_pid} of postgres (a report)"
    assert f"waited too long for emails, which {holder}" in caught.value.reason
    assert "pg_terminate_backend" in caught.value.reason
    (line,) = [each for each in logged if each["event"] == "migration_waits"]
    assert (line["table"], line["holder"].startswith(holder)) == ("emails", True)


def test_a_migrator_that_another_keeps_out_for_too_long_names_it(empty_database_url: str) -> None:
    with connect(empty_database_url, application_name="another release") as other:
        other.execute("select pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))
        holder = f"session {other.info.backend_pid} of postgres"
        with pytest.raises(Transient) as caught:
            upgrade(Settings(database_url=SecretStr(empty_database_url)), wait_s=0)
    assert f"{holder} (another release)" in caught.value.reason


def test_a_migrator_that_waits_for_another_says_so_once(empty_database_url: str) -> None:
    settings = Settings(database_url=SecretStr(empty_database_url))
    with (
        ThreadPoolExecutor(1) as aside,
        capture_logs() as logged,
        connect(empty_database_url) as other,
    ):
        other.execute("select pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))
        holder = f"session {other.info.backend_pid} of postgres"
        done = aside.submit(upgrade, settings)
        eventually(lambda: len(logged) > 0, describe="the migrator to say that it waits")
        other.rollback()
        done.result(timeout=60)
    (line,) = [each for each in logged if each["event"] == "migration_waits"]
    assert line["holder"].startswith(holder)


def test_a_migration_that_a_deadlock_ends_is_tried_again(empty_database_url: str) -> None:
    """A worker writes a run and then asks for its account, as a foreign key does; the migration takes them in turn."""
    settings = Settings(database_url=SecretStr(empty_database_url))
    command.upgrade(configuration(settings), BEFORE_TWO_TABLES)
    with (
        ThreadPoolExecutor(1) as aside,
        connect(empty_database_url, autocommit=True) as fleet,
        connect(empty_database_url) as worker,
    ):
        worker.execute("set deadlock_timeout = '1h'")  # so that PostgreSQL ends the migration, and not the worker
        worker.execute("update agent_runs set reason = reason")
        done = aside.submit(upgrade, settings)
        until_a_lock_is_waited_for(fleet, describe="the migration to wait for the runs")
        worker.execute("select from accounts for key share")
        worker.commit()
        done.result(timeout=60)
        newest = (MIGRATIONS / "HEAD").read_text().strip()
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(newest,)]
