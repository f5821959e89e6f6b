"""A kept database is in its first state for each test, or it is another one."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.doubles.factories import make_org
from tests.servers.kept_database import KeptDatabase
from tests.servers.servers import TEMPLATE, SessionServers

ROWS = "select (select count(*) from orgs), (select count(*) from audit_entries), (select released_to from counting)"


@pytest.fixture
def kept(servers: SessionServers) -> Iterator[KeptDatabase]:
    made = KeptDatabase(servers, TEMPLATE, "of_its_own")
    yield made
    made.close()


def all_rows(connection: psycopg.Connection) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    tables = connection.execute("select tablename from pg_tables where schemaname = 'public' order by 1").fetchall()
    return {
        name: sorted(row[0] for row in connection.execute(f"select t::text from {name} t".encode()))
        for (name,) in tables
    }


def sequences(connection: psycopg.Connection) -> list[tuple[str, int | None]]:
    return connection.execute("select sequencename, last_value from pg_sequences order by 1").fetchall()


def write_all_over(connection: psycopg.Connection) -> None:
    """Change what had rows, what had none, and a sequence."""
    org = make_org(connection)
    connection.execute("update orgs set name = 'of somebody' where id <> %s", [org])
    connection.execute("delete from tenant_seal")
    secret = "insert into org_secrets (org_id, name, sealed, key_id) values (%s, 'a', 'b', '8 octets')"
    connection.execute(secret, [org])
    connection.execute("select nextval(pg_get_serial_sequence('audit_entries', 'id'))")


def test_what_a_test_wrote_is_gone_for_the_next(kept: KeptDatabase) -> None:
    with kept.lend() as first, psycopg.connect(first, autocommit=True) as connection:
        before = all_rows(connection), sequences(connection)
        write_all_over(connection)
        assert (all_rows(connection), sequences(connection)) != before
    with kept.lend() as second, psycopg.connect(second) as connection:
        assert second == first
        assert (all_rows(connection), sequences(connection)) == before


@pytest.mark.parametrize(
    "change",
    [
        "create table mine (x int)",
        "drop table tenant_seal",
        "create function mine() returns int language sql as 'select 1'",
        "grant select on tenant_seal to postroom_tenant",
        "alter table orgs disable row level security",
        "analyze orgs",
        "vacuum jobs",
        "alter database {} set work_mem = '1MB'",
        "alter role postroom_tenant in database {} set work_mem = '1MB'",
        "grant temporary on database {} to public",
        "select lo_create(0)",
        "insert into orgs (name) select 'an org' from generate_series(1, 2000)",
    ],
)
def test_a_change_that_cannot_be_taken_back_ends_the_database(kept: KeptDatabase, change: str) -> None:
    with kept.lend() as first, psycopg.connect(first, autocommit=True) as connection:
        connection.execute(change.format(connection.info.dbname).encode())
    with kept.lend() as second:
        assert second != first
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_a_session_that_a_test_leaves_ends_the_database(kept: KeptDatabase) -> None:
    with kept.lend() as first:
        left = psycopg.connect(first)
    with kept.lend() as second:
        assert second != first
    with left, pytest.raises(psycopg.OperationalError):
        left.execute("select true")


def test_a_database_whose_sessions_were_all_ended_is_another_one(kept: KeptDatabase) -> None:
    with kept.lend() as first, psycopg.connect(first, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    with kept.lend() as second:
        assert second != first
