"""Sessions that rest are clean, and are lent to who would open the same."""

import pytest
from psycopg import Connection

from settings import Settings
from storage.postgres.database import Database
from tests.servers.kept_sessions import RESTING, owner_session

LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"


def process_id(connection: Connection) -> int:
    return connection.info.backend_pid


@pytest.mark.parametrize(
    ("leave", "look"),
    [
        ("set work_mem = '1MB'", "show work_mem"),
        ("create temporary table mine (x int)", "select to_regclass('pg_temp.mine')::text"),
        ("select pg_advisory_lock(7)", f"{LOCKS} and pid = pg_backend_pid()"),
        ("listen mine", "select count(*) from pg_listening_channels()"),
        ("prepare mine as select 1", "select count(*) from pg_prepared_statements"),
        ("set session authorization postroom_tenant", "select session_user::text"),
    ],
)  # fmt: skip
def test_a_session_that_rested_has_nothing_of_its_last_use(database_url: str, leave: str, look: str) -> None:
    with owner_session(database_url) as connection:
        before = connection.execute(look.encode()).fetchone()
        connection.execute(leave.encode())
        first = process_id(connection)
    assert connection.closed
    with owner_session(database_url) as connection:
        assert process_id(connection) == first
        assert connection.execute(look.encode()).fetchone() == before


def test_a_session_in_a_transaction_does_not_rest(database_url: str) -> None:
    with owner_session(database_url) as connection:
        connection.execute("begin")
        first = process_id(connection)
    with owner_session(database_url) as connection:
        assert process_id(connection) != first


def test_a_session_that_was_ended_while_it_rested_is_lent_to_nobody(database: Connection, database_url: str) -> None:
    with owner_session(database_url) as connection:
        first = process_id(connection)
    database.execute("select pg_terminate_backend(%s, 5000)", [first])
    with owner_session(database_url) as connection:
        assert process_id(connection) != first


def test_no_session_of_a_fresh_database_rests(fresh_database_url: str) -> None:
    with owner_session(fresh_database_url) as connection:
        name = connection.info.dbname
    assert RESTING.of(name) == []


def test_each_role_has_its_own(settings: Settings, database_url: str) -> None:
    name = database_url.rpartition("/")[2]
    met = []
    for _ in range(2):
        store = Database(settings)
        with store.ledger() as tx:
            met.append(tx.raw("select current_user::text, pg_backend_pid()")[0])
        store.dispose()
    assert met[0] == met[1]
    assert met[0][0] == "postroom_ledger"
    assert met[0][1] in RESTING.of(name)
