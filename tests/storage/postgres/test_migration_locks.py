"""A migration that waits keeps nobody waiting behind it for long, and says whom it waits for (promise P11)."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from alembic import command
from psycopg import Connection, connect
from pydantic import SecretStr
from structlog.testing import capture_logs

from domain.jobs.failures import Transient
from settings import Settings
from storage.postgres.execution import DatabaseUnavailable
from storage.postgres.migrate import MIGRATIONS, PAUSE_S, configuration, upgrade
from storage.postgres.migration_session import MIGRATING, ONE_AT_A_TIME, TRY_S
from tests.waiting import eventually, until_a_lock_is_waited_for

BEFORE_NEW_COLUMNS = "0031_pre_full_sync"
"""0032 adds a column to `emails`, which takes the whole table."""
BEFORE_TWO_TABLES = "0032_pre_audit_vacuum"
"""0033 adds columns to `accounts` and then to `agent_runs`."""

BEFORE_NEW_INDEXES = "0013_pre_attempts"
"""0014 builds two indexes beside a running fleet."""


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


LIMITS = {
    "statement_timeout": "500ms",
    "idle_in_transaction_session_timeout": "200ms",
    "transaction_timeout": "1s",
    "idle_session_timeout": "200ms",
    "lock_timeout": "1ms",
}


def limited(url: str, limits: Mapping[str, str] = LIMITS) -> Settings:
    """Settings of an owner for whose sessions these limits are set."""
    options = quote(" ".join(f"-c {name}={value}" for name, value in limits.items()))
    return Settings(database_url=SecretStr(f"{url}?options={options}"))


@pytest.mark.parametrize("limit", LIMITS)
def test_no_time_limit_of_the_owner_s_sessions_ends_a_migration(
    half_migrated: str, reader: Connection, limit: str
) -> None:
    """The first try waits for two seconds in a statement, and the pause after it is longer than the other limits."""
    active = (
        "select from pg_stat_activity where datname = current_database() and application_name = %s"
        " and clock_timestamp() - state_change < '500 ms'"
    )
    with connect(half_migrated, autocommit=True) as fleet:

        def pause(_seconds: float) -> None:
            eventually(
                lambda: fleet.execute(active, (MIGRATING,)).fetchone() is None, describe="the migrator to be idle"
            )
            reader.rollback()

        upgrade(limited(half_migrated, {limit: LIMITS[limit]}), pause=pause)


def test_an_index_is_built_however_long_an_older_transaction_lasts(empty_database_url: str) -> None:
    """The limit for tables would end it each time, for whoever builds one waits for every older transaction."""
    command.upgrade(configuration(Settings(database_url=SecretStr(empty_database_url))), BEFORE_NEW_INDEXES)
    with (
        ThreadPoolExecutor(1) as aside,
        capture_logs() as logged,
        connect(empty_database_url, autocommit=True) as fleet,
        connect(empty_database_url, application_name="a dump") as older,
    ):
        holder = f"session {older.info.backend_pid} of postgres (a dump)"
        older.execute("set transaction isolation level repeatable read")
        older.execute("select from orgs")
        done = aside.submit(upgrade, limited(empty_database_url), pause=no_pause)
        builds = (
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            " and query like 'create index concurrently%%' and clock_timestamp() - query_start > '3 s'"
        )
        eventually(
            lambda: done.done() or fleet.execute(builds).fetchone() is not None,
            within=60,
            describe="the build to outlast every limit",
        )
        assert not done.done()
        older.rollback()
        done.result(timeout=60)
    (line,) = [each for each in logged if each["event"] == "migration_waits"]
    assert line["holder"].startswith(holder)


def no_pause(_seconds: float) -> None:
    """For a migrator that has no time left: it gives up at its first look, or the test fails at once."""
    pytest.fail("the migrator goes on after its time")


def test_a_migrator_that_gives_up_names_the_table_and_who_has_it(half_migrated: str, reader: Connection) -> None:
    with capture_logs() as logged, pytest.raises(Transient) as caught:
        upgrade(Settings(database_url=SecretStr(half_migrated)), wait_s=0, pause=no_pause)
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
            upgrade(Settings(database_url=SecretStr(empty_database_url)), wait_s=0, pause=no_pause)
    assert f"{holder} (another release)" in caught.value.reason


def test_a_migrator_that_waits_for_another_says_so_once(empty_database_url: str) -> None:
    pauses = list[float]()
    with capture_logs() as logged, connect(empty_database_url) as other:
        other.execute("select pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))
        holder = f"session {other.info.backend_pid} of postgres"

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                other.rollback()

        upgrade(Settings(database_url=SecretStr(empty_database_url)), pause=pause)
    assert pauses == [TRY_S] * 3
    (line,) = [each for each in logged if each["event"] == "migration_waits"]
    assert line["holder"].startswith(holder)


def test_to_end_the_session_that_a_second_migrator_names_ends_the_first(half_migrated: str, reader: Connection) -> None:
    """The lock stood in a session of its own: to end that one let the second in while the first went on."""
    settings = Settings(database_url=SecretStr(half_migrated))
    with ThreadPoolExecutor(1) as aside, connect(half_migrated, autocommit=True) as fleet:
        first = aside.submit(upgrade, settings)
        try:
            until_a_lock_is_waited_for(fleet, describe="the first migrator to wait for the table")
            with pytest.raises(Transient) as second:
                upgrade(settings, wait_s=0, pause=no_pause)
            named = re.search(rf"session (\d+) of postgres \({MIGRATING}\)", second.value.reason)
            assert named is not None
            assert fleet.execute("select pg_terminate_backend(%s)", (int(named[1]),)).fetchone() == (True,)
            with pytest.raises(DatabaseUnavailable) as ended:
                first.result(timeout=60)
        finally:
            reader.rollback()
        assert ended.value.trouble.finding == "the session that migrates was ended, or PostgreSQL was stopped"
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(BEFORE_NEW_COLUMNS,)]
        upgrade(settings)


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
