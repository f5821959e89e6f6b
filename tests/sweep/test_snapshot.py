"""A snapshot brings back every row and number of a database, whoever is still at work in it."""

import psycopg
import pytest
from psycopg import Connection

from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.sweep.snapshot import Snapshot, keep

TABLES = "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
TIMES = """array(select column_name::text from information_schema.columns
  where table_schema = 'public' and table_name = '{0}' and data_type = 'timestamp with time zone')"""


def rows(database: Connection) -> dict[str, list[str]]:
    """Every row but its times."""
    tables = sorted(row[0] for row in database.execute(TABLES))
    query = f"select (to_jsonb(t) - {TIMES})::text from {{0}} t order by 1"
    return {name: [row[0] for row in database.execute(query.format(name))] for name in tables}


@pytest.fixture
def snapshot(store: Database, database: Connection) -> Snapshot:
    make_job_type(store)
    enqueue_one(store, make_org(database))
    return keep(database)


def test_what_was_added_changed_or_removed_is_undone(store: Database, snapshot: Snapshot) -> None:
    before = rows(snapshot.owner)
    assert before["jobs"]
    assert before["audit_entries"]
    enqueue_one(store, make_org(snapshot.owner, "another org"))
    snapshot.owner.execute("update jobs set priority = priority + 1")
    snapshot.owner.execute("set session_replication_role = replica; delete from orgs where name <> 'another org'")
    snapshot.owner.execute("set session_replication_role = default")
    assert rows(snapshot.owner) != before
    snapshot.put_back()
    assert rows(snapshot.owner) == before


def test_all_times_are_as_far_from_now_as_they_were(snapshot: Snapshot) -> None:
    times = "select j.created_at, j.next_check_at - j.created_at, a.at - j.created_at from jobs j, audit_log a"
    ((created_at, *gaps),) = snapshot.owner.execute(times).fetchall()
    snapshot.put_back()
    ((later, *same),) = snapshot.owner.execute(times).fetchall()
    assert later > created_at
    assert same == gaps


def test_numbers_are_given_anew(store: Database, snapshot: Snapshot) -> None:
    [org] = [row[0] for row in snapshot.owner.execute("select distinct org_id from jobs")]
    given = []
    for _ in range(2):
        snapshot.put_back()
        store.dispose()  # its connections were ended
        enqueue_one(store, org)
        given.append(snapshot.owner.execute("select max(id) from audit_log").fetchone())
    assert given[0] == given[1]


def test_an_open_transaction_of_another_keeps_nothing_back(database_url: str, snapshot: Snapshot) -> None:
    before = rows(snapshot.owner)
    with psycopg.connect(database_url) as other:
        other.execute("update jobs set priority = priority + 1")
        snapshot.put_back()
        with pytest.raises(psycopg.OperationalError):
            other.execute("commit")
    assert rows(snapshot.owner) == before
