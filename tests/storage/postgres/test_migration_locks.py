"""A migration that waits for a table keeps nobody waiting behind it for long (promise P11)."""

from concurrent.futures import ThreadPoolExecutor

from alembic import command
from psycopg import connect
from pydantic import SecretStr

from settings import Settings
from storage.postgres.migrate import MIGRATIONS, configuration, upgrade
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
        fleet.execute("set statement_timeout = '30s'")
        done = aside.submit(upgrade, settings)
        until_a_lock_is_waited_for(fleet, describe="the migration to wait for the table")
        assert fleet.execute("select count(*) from emails").fetchone() == (0,)
        assert not done.done()
        reader.rollback()
        done.result(timeout=60)
        newest = (MIGRATIONS / "HEAD").read_text().strip()
        assert fleet.execute("select version_num from alembic_version").fetchall() == [(newest,)]


BEFORE_TWO_TABLES = "0032_pre_audit_vacuum"
"""0033 adds columns to `accounts` and then to `agent_runs`."""


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
