"""A migration that waits keeps nobody waiting behind it for long, and names whom it waited for (promise P11)."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg import Connection, connect
from pydantic import SecretStr
from structlog.testing import capture_logs

from domain.jobs.failures import Transient
from settings import Settings
from storage.postgres.execution import DatabaseUnavailable, StatementAborted
from storage.postgres.migrate import MIGRATING, ONE_AT_A_TIME, PAUSE_S, upgrade
from storage.postgres.readiness import newest_revision
from tests.storage.postgres.migrations.later_release import LATER, later_release
from tests.waiting import eventually, until_a_lock_is_waited_for

NEW_COLUMN = 'op.execute("alter table emails add column probe text")'
"""Takes the whole table."""


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a release that adds a column to `emails`."""
    return later_release(tmp_path, NEW_COLUMN)


@pytest.fixture
def reader(database_url: str) -> Iterator[Connection]:
    """A session that stays in a transaction in which it has read a table."""
    with connect(database_url, application_name="a report") as connection:
        connection.execute("select from emails")
        yield connection


def test_the_fleet_reads_a_table_that_a_migration_waits_for(database_url: str, later: Path) -> None:
    settings = Settings(database_url=SecretStr(database_url))
    with (
        ThreadPoolExecutor(1) as aside,
        connect(database_url, autocommit=True) as fleet,
        connect(database_url) as reader,  # closed first: what waits for it ends, whatever comes of the test
    ):
        reader.execute("select from emails")
        fleet.execute(f"set statement_timeout = '{settings.statement_timeout_s:g}s'")  # as its processes do
        done = aside.submit(upgrade, settings, migrations=later)
        until_a_lock_is_waited_for(fleet, describe="the migration to wait for the table")
        assert fleet.execute("select count(*) from emails").fetchone() == (0,)
        assert not done.done()
        reader.rollback()
        done.result(timeout=60)
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(LATER,)]


def test_it_leaves_the_table_to_others_before_it_tries_again(database_url: str, later: Path, tmp_path: Path) -> None:
    artifacts = SecretStr(f"file://{tmp_path}")
    settings = Settings(database_url=SecretStr(database_url), artifacts_url=artifacts)
    pauses = list[tuple[float, bool]]()
    with capture_logs() as logged, connect(database_url) as reader:
        reader.execute("select from emails")

        def pause(seconds: float) -> None:
            reader.rollback()
            is_done = reader.execute("select from alembic_version where version_num = %s", (LATER,)).rowcount == 1
            reader.rollback()
            pauses.append((seconds, is_done))

        upgrade(settings, migrations=later, wait_s=20, pause=pause)
    # With the table it is done; the roles are the whole server's, and another test may change them in that moment.
    assert [seconds for seconds, is_done in pauses if not is_done] == [PAUSE_S]
    assert [line["event"] for line in logged] == ["migration_waits"] * len(pauses)


LIMITS = {
    "statement_timeout": "500ms",
    "idle_in_transaction_session_timeout": "200ms",
    "transaction_timeout": "1s",
    "idle_session_timeout": "200ms",
    "lock_timeout": "1ms",
}


def limited(url: str) -> Settings:
    """Settings of an owner for whose sessions these limits are set."""
    options = quote(" ".join(f"-c {name}={value}" for name, value in LIMITS.items()))
    return Settings(database_url=SecretStr(f"{url}?options={options}"))


def test_no_time_limit_of_the_owner_s_sessions_ends_a_migration(
    database_url: str, later: Path, reader: Connection
) -> None:
    """The first try waits for two seconds in a statement, and the pause after it is longer than the other limits."""
    active = (
        "select from pg_stat_activity where datname = current_database() and application_name = %s"
        " and clock_timestamp() - state_change < '500 ms'"
    )
    with connect(database_url, autocommit=True) as fleet:

        def pause(_seconds: float) -> None:
            eventually(
                lambda: fleet.execute(active, (MIGRATING,)).fetchone() is None, describe="the migrator to be idle"
            )
            reader.rollback()

        upgrade(limited(database_url), migrations=later, pause=pause)


def test_an_index_is_built_however_long_an_older_transaction_lasts(database_url: str, tmp_path: Path) -> None:
    """The limit for tables would end it each time, for whoever builds one waits for every older transaction."""
    later = later_release(tmp_path, 'build_index("jobs_probe", "on jobs (project_id)")')
    with (
        ThreadPoolExecutor(1) as aside,
        connect(database_url, autocommit=True) as fleet,
        connect(database_url) as older,
    ):
        older.execute("set transaction isolation level repeatable read")
        older.execute("select from orgs")
        done = aside.submit(upgrade, limited(database_url), migrations=later, pause=no_pause)
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


def no_pause(_seconds: float) -> None:
    """For a migrator that has no time left: its first try is its last."""
    pytest.fail("the migrator goes on after its time")


def test_a_migrator_that_gives_up_names_the_table_and_who_has_it(
    database_url: str, later: Path, reader: Connection
) -> None:
    with pytest.raises(Transient) as caught:
        upgrade(Settings(database_url=SecretStr(database_url)), migrations=later, wait_s=0, pause=no_pause)
    holder = f"session {reader.info.backend_pid} of postgres (a report) has, in a transaction for "
    assert f"waited too long for emails, which {holder}" in caught.value.reason
    assert "pg_terminate_backend" in caught.value.reason


def test_a_migrator_that_waits_for_another_begins_when_that_has_ended(empty_database_url: str) -> None:
    pauses = list[float]()
    with connect(empty_database_url) as other:
        other.execute("select pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            other.rollback()

        upgrade(Settings(database_url=SecretStr(empty_database_url)), pause=pause)
    assert pauses == [PAUSE_S]


def test_to_end_the_session_that_a_second_migrator_names_ends_the_first(
    database_url: str, later: Path, reader: Connection
) -> None:
    """With the lock in a session of its own, to end that one would let the second in while the first goes on."""
    settings = Settings(database_url=SecretStr(database_url))
    with ThreadPoolExecutor(1) as aside, connect(database_url, autocommit=True) as fleet:
        first = aside.submit(upgrade, settings, migrations=later)
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
        assert not isinstance(ended.value, StatementAborted)
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(newest_revision(),)]
        upgrade(settings)


def test_a_migration_that_a_deadlock_ends_is_tried_again(database_url: str, tmp_path: Path) -> None:
    """A worker writes a run and then asks for its account, as a foreign key does; the migration takes them in turn."""
    settings = Settings(database_url=SecretStr(database_url))
    both = (f'op.execute("alter table {table} add column probe text")' for table in ("accounts", "agent_runs"))
    later = later_release(tmp_path, *both)
    with (
        ThreadPoolExecutor(1) as aside,
        connect(database_url, autocommit=True) as fleet,
        connect(database_url) as worker,
    ):
        worker.execute("set deadlock_timeout = '1h'")  # so that PostgreSQL ends the migration, and not the worker
        worker.execute("update agent_runs set reason = reason")
        done = aside.submit(upgrade, settings, migrations=later)
        until_a_lock_is_waited_for(fleet, describe="the migration to wait for the runs")
        worker.execute("select from accounts for key share")
        worker.commit()
        done.result(timeout=60)
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(LATER,)]
