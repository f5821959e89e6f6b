"""Who scales workers asks how deep a queue is and reads the history of jobs, and nothing else."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.errors import InsufficientPrivilege

from settings import Settings
from storage.postgres.database import Database
from storage.postgres.logins import WATCH_ROLE, role_url
from tests.doubles.factories import enqueue_one, make_job_type

READABLE = {"job_minutes", "org_hours", "queue_samples", "failure_groups"}


@pytest.fixture
def watching(settings: Settings) -> Iterator[Connection]:
    url = role_url(settings, WATCH_ROLE).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def test_it_reads_depths_up_to_a_number_and_the_history(
    watching: Connection, store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store)
    for _ in range(5):
        enqueue_one(store, org)
    database.execute("insert into org_hours values (now(), %s, 'a.b', 1, 0, 0, 0, 0, 0, 7)", (org,))
    for most, depth in ((3, 3), (100, 5)):
        assert watching.execute("select postroom.queue_depth('default', %s)", (most,)).fetchone() == (depth,)
    assert watching.execute("select microcents from org_hours").fetchone() == (7,)
    for table in READABLE:
        watching.execute(sql.SQL("select * from {}").format(sql.Identifier(table)))


def test_it_reads_and_writes_nothing_else(watching: Connection, database: Connection) -> None:
    tables = database.execute(
        "select relname, relkind = 'r' from pg_class"
        " where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')"
    ).fetchall()
    for table, is_table in tables:
        name = sql.Identifier(table)
        asked = [sql.SQL("delete from {}"), sql.SQL("insert into {} default values")] if is_table else []
        for one in (*asked, *([] if table in READABLE else [sql.SQL("select from {}")])):
            with pytest.raises(InsufficientPrivilege):
                watching.execute(one.format(name))
    for routine in ("postroom.look_back_at_jobs", "postroom.enqueue", "postroom.job_zones", "pg_terminate_backend"):
        asks = (
            "select bool_or(has_function_privilege('postroom_watch', oid, 'execute')) from pg_proc"
            " where oid::regproc::text = %s"
        )
        may = database.execute(asks.encode(), (routine,)).fetchone()
        assert may == (False,), routine


def test_more_rights_would_be_found(database: Connection) -> None:
    assert database.execute("select * from postroom.wrong_rights()").fetchall() == []
    with database.transaction(force_rollback=True):
        database.execute("grant select (id) on jobs to postroom_watch; grant update on job_minutes to postroom_watch")
        database.execute("grant execute on function postroom.free_slots to postroom_watch")
        found = database.execute("select problem, seen from postroom.wrong_rights()").fetchall()
    assert {seen for _, seen in found} == {"jobs", "job_minutes", "postroom.free_slots(uuid[])"}
