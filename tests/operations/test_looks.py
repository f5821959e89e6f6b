"""A look writes nothing: each reads in transactions that only read, and PostgreSQL refuses what would write there."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.sql import SQL, Identifier
from pydantic import ValidationError

from domain.jobs.failures import Failure, Forbidden
from gateway.console.forms import values_of
from operations.areas import areas
from operations.operation import checked
from operations.pages import Window
from settings import Settings
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseError
from storage.postgres.logins import TENANT_ROLE
from storage.postgres.transaction import TenantTransaction, Transaction
from tests.doubles.calls import call_by
from tests.gateway.console.test_scopes import Others, asked, columns
from tests.storage.postgres.row_makers import fill_every_table

LOOKS = [one for area in areas() for one in area.operations if not one.events]


class Watched(Database):
    """Notes which transactions were opened: those that only read, and others."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.looks, self.others = 0, list[str]()

    def looking(self, org_id: UUID | None) -> AbstractContextManager[Transaction]:
        self.looks += 1
        return super().looking(org_id)

    def ledger(self) -> AbstractContextManager[Transaction]:
        self.others.append("ledger")
        return super().ledger()

    @contextmanager
    def statements(self) -> Iterator[Transaction]:
        self.others.append("statements")
        with super().statements() as tx:
            yield tx

    @contextmanager
    def tenant(
        self, org_id: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        self.others.append("tenant")
        with super().tenant(org_id, project_id, role=role) as tx:
            yield tx


@pytest.fixture
def watched(settings: Settings, org: UUID) -> Iterator[Watched]:
    made = Watched(settings)
    with made.looking(org):
        made.others.clear()  # the secret of the seals was read
    yield made
    made.dispose()


@pytest.fixture
def things(database: Connection) -> Others:
    """An org with a row in every table, its ids and its texts."""
    org = uuid4()
    fill_every_table(database, org)
    ids: dict[str, list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    for table, column in columns(database, ["uuid", "text"]):
        query = SQL("select {}::text from {} where org_id = %s").format(Identifier(column), Identifier(table))
        found = [str(one) for (one,) in database.execute(query, (org,)) if one is not None]
        ids.setdefault(table if column == "id" else column, found)
        if found:
            texts[table, column] = found[0]
    return Others(org, ids, texts)


def test_each_look_reads_in_transactions_that_only_read(watched: Watched, things: Others) -> None:
    answered, silent = set[str](), set[str]()
    for operation in LOOKS:
        given = checked(operation.parameters, values_of(operation, asked(operation, (), things)))
        if operation.is_paged:
            given["window"] = Window(5)
        for org_id in (things.org, None):
            before = watched.looks
            try:
                operation(call_by("ada", watched, org_id=org_id), **given)
            except (Failure, ValidationError):  # it needs an org, or the row is not such a one as the fleet writes
                pass
            else:
                answered.add(operation.name)
                if watched.looks == before:
                    silent.add(operation.name)
            assert watched.others == [], operation.name
    assert len(answered) > len(LOOKS) * 0.8  # the others refuse the row that the test made for them
    assert silent == set()


@pytest.mark.parametrize("is_of_org", [True, False])
def test_what_would_write_in_a_look_is_refused(
    store: Database, org: UUID, database: Connection, is_of_org: bool
) -> None:
    whose = org if is_of_org else None
    with pytest.raises((DatabaseError, Forbidden)), store.looking(whose) as tx:
        assert tx.is_reading
        tx.raw("select postroom.keep_email_order(%(org)s, '{}')", {"org": org})
    with store.looking(whose) as tx:
        assert [row.id for row in tx.raw("select id from orgs where id = %(org)s", {"org": org})] == [org]
    with store.tenant(org) if is_of_org else store.ledger() as tx:  # by the same connection of the pool
        tx.raw("select postroom.keep_email_order(%(org)s, '{}')", {"org": org})
    assert database.execute("select count(*) from email_orders").fetchone() == (1,)
