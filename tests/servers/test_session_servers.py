"""Each test has a database and a broker of its own, unaffected by other tests."""

import psycopg
import pytest
import redis
from psycopg import Connection

from tests.servers.servers import SessionServers, temporary_database
from tests.waiting import eventually


@pytest.mark.parametrize("turn", [1, 2])
def test_a_database_shows_nothing_of_another_test(database: Connection, turn: int) -> None:
    database.execute("CREATE TABLE only_mine AS SELECT %s AS turn", [turn])
    assert database.execute("SELECT turn FROM only_mine").fetchone() == (turn,)


@pytest.mark.parametrize("turn", [1, 2])
def test_a_broker_is_empty_at_first(broker_url: str, turn: int) -> None:
    with redis.Redis.from_url(broker_url) as client:
        assert client.dbsize() == 0
        client.set("left behind", turn)


def test_an_empty_database_has_no_table(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'")
        assert tables.fetchone() == (0,)


def test_a_database_is_dropped_although_somebody_is_still_connected(servers: SessionServers) -> None:
    with temporary_database(servers, template="template0") as url:
        left_open = psycopg.connect(url)
    with left_open, pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT true")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_waiting_fails_with_what_was_awaited() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"waited 0\.05 s for rain; the last answer was 0"):
        eventually(lambda: 0, within=0.05, describe="rain")
