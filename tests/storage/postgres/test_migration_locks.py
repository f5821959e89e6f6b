"""A migration that waits for a table keeps nobody waiting behind it for long (promise P11)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from psycopg import connect
from pydantic import SecretStr

from settings import Settings
from storage.postgres.execution import StatementAborted
from storage.postgres.migrate import MIGRATIONS, PAUSE_S, configuration, upgrade
from tests.waiting import until_a_lock_is_waited_for

BEFORE_NEW_COLUMNS = "0031_pre_full_sync"
"""0032 adds a column to `emails`, which takes the whole table."""


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


def test_one_that_never_gets_its_table_ends_and_has_changed_nothing(empty_database_url: str) -> None:
    settings = Settings(database_url=SecretStr(empty_database_url))
    command.upgrade(configuration(settings), BEFORE_NEW_COLUMNS)
    with connect(empty_database_url) as reader:
        reader.execute("select from emails")
        with pytest.raises(StatementAborted, match="LockNotAvailable"):
            upgrade(settings, wait_s=0, pause=lambda _seconds: pytest.fail("it would wait for ever"))
        left = reader.execute("select version_num from alembic_version").fetchall()
    assert left == [(BEFORE_NEW_COLUMNS,)]
