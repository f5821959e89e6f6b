"""The console's own threads and connections: slow pages, and viewers who leave, take nothing of the API."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest
from fastapi import FastAPI
from psycopg import Connection

from domain.jobs.failures import Forbidden
from domain.jobs.job import SYSTEM_ORG
from gateway.console import reading
from settings import Settings
from storage.postgres.database import Reader, ReadingDatabase
from storage.postgres.execution import DatabaseError, DatabaseUnavailable, StatementAborted
from tests.gateway.console.people import Browser
from tests.waiting import eventually

REFUSED = (Forbidden, DatabaseError, DatabaseUnavailable)


@pytest.fixture
def reads(settings: Settings) -> Iterator[ReadingDatabase]:
    made = ReadingDatabase(settings, connections=2, most_s=0.2)
    yield made
    made.dispose()


def test_nothing_is_written(reads: ReadingDatabase, org: UUID, database: Connection) -> None:
    with pytest.raises(REFUSED), reads.ledger() as tx:
        tx.raw("update orgs set weight = 7")
    with pytest.raises(REFUSED), reads.tenant(org) as tenant:
        tenant.raw("delete from users")
    assert database.execute("select count(*) from orgs where weight = 7").fetchone() == (0,)
    with reads.tenant(org) as tenant:
        assert [row.id for row in tenant.raw("select id from orgs")] == [org]


def test_a_statement_that_is_too_slow_ends(reads: ReadingDatabase) -> None:
    with pytest.raises(StatementAborted), reads.ledger() as tx:
        tx.raw("select pg_sleep(60)")
    with reads.ledger() as tx:
        assert tx.raw("select 1 as one")[0].one == 1


def test_what_nobody_waits_for_any_more_ends_and_is_not_begun(settings: Settings, database: Connection) -> None:
    patient = ReadingDatabase(settings, connections=2, most_s=60)
    reader = Reader()

    def read_for_long() -> None:
        with patient.read_by(reader), patient.ledger() as tx:
            tx.raw("select pg_sleep(59) as found_by_the_test")

    def is_read() -> bool:
        query = "select count(*) from pg_stat_activity where query like '%found_by_the_test' and state = 'active'"
        return database.execute(query).fetchone() == (1,)

    async def leave() -> None:
        doing = asyncio.create_task(asyncio.to_thread(read_for_long))
        await asyncio.to_thread(eventually, is_read, describe="the statement never began")
        await asyncio.to_thread(reader.give_up)
        with pytest.raises(StatementAborted):
            await doing

    asyncio.run(leave())
    with pytest.raises(StatementAborted):
        read_for_long()
    patient.dispose()


@pytest.fixture
def without_api(console: FastAPI) -> Callable[[], ExitStack]:
    """Holds every connection of the API, as slow requests of it do."""

    def hold() -> ExitStack:
        held, resources = ExitStack(), console.state.resources
        for _ in range(resources.settings.database_pool_size):
            held.enter_context(resources.database.statements())
            held.enter_context(resources.database.tenant(SYSTEM_ORG))
        return held

    return hold


def test_whoever_looks_waits_for_no_connection_of_the_api(
    ada: Browser, database: Connection, org: UUID, without_api: Callable[[], ExitStack]
) -> None:
    """Neither to write that the session is used, nor to look at what has no values; the note is written later."""
    database.execute("update operator_sessions set seen_at = now() - interval '5 minutes'")
    noted = "select count(*) from operator_sessions where seen_at > now() - interval '1 minute'"
    with without_api():
        for path in ("/console/who", "/console/jobs?show_values=yes", f"/console/jobs?show_values=yes&of_org={org}"):
            assert ada.get(path).status_code == 200, path
        assert database.execute(noted).fetchone() == (0,)
    eventually(lambda: database.execute(noted).fetchone() == (1,), describe="the use of the session was not noted")


def test_the_bounds_are_those_that_were_promised() -> None:
    assert (reading.READS_AT_ONCE, reading.READ_WITHIN_S) == (4, 2.0)
