"""A list of records in pages: each row once, in the order of its statement, whatever the size of a page."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from operations.pages import Window, write_cursor
from operations.planning.availabilities import AvailabilityView
from operations.planning.projects import PlaceView
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_org

MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
PLACES, TIMES = 5, 7


@pytest.fixture
def project(database: Connection) -> dict[str, UUID]:
    """A project with places, and a person in it with times, of which several begin at once."""
    org_id, project_id, person = make_org(database), uuid4(), uuid4()
    database.execute("insert into projects (id, org_id, name) values (%s, %s, 'x')", (project_id, org_id))
    for number in range(PLACES):
        place = (org_id, project_id, str(number))
        database.execute("insert into places (org_id, project_id, name) values (%s, %s, %s)", place)
    whose = (person, org_id, project_id)
    database.execute("insert into collaborators (id, org_id, project_id, name) values (%s, %s, %s, 'Ada')", whose)
    for number in range(TIMES):
        begin = MONDAY + timedelta(days=number // 3)
        database.execute(
            "insert into availabilities (org_id, project_id, collaborator_id, kind, during, source)"
            " values (%s, %s, %s, 'busy', tstzrange(%s, %s), 'hand')",
            (org_id, project_id, person, begin, begin + timedelta(hours=1)),
        )
    return {"org_id": org_id, "project_id": project_id, "collaborator_id": person}


def times(tx: Transaction, project: dict[str, UUID], size: int) -> list[AvailabilityView]:
    found: list[AvailabilityView] = []
    cursor = None
    while not found or cursor:
        page = Window(size, cursor).records(tx, "list_availabilities", AvailabilityView, **project)
        assert len(page.items) == size or page.next_cursor is None
        found, cursor = [*found, *page.items], page.next_cursor
    return found


@pytest.mark.parametrize("size", range(1, TIMES + 2))
def test_each_row_is_on_one_page(store: Database, project: dict[str, UUID], size: int) -> None:
    with store.tenant(project["org_id"]) as tx:
        found = times(tx, project, size)
    assert len({one.availability_id for one in found}) == TIMES
    assert found == sorted(found, key=lambda one: (one.starts_at, one.availability_id))


@pytest.mark.parametrize(
    "position", [(), ("x",), (str(uuid4()),), (MONDAY, str(uuid4()), 1), (MONDAY.replace(tzinfo=None), str(uuid4()))]
)
def test_a_position_of_other_columns_is_refused(
    store: Database, project: dict[str, UUID], position: tuple[object, ...]
) -> None:
    with store.tenant(project["org_id"]) as tx, pytest.raises(Invalid, match="cursor: is no cursor of this list"):
        Window(1, write_cursor(position)).records(tx, "list_availabilities", AvailabilityView, **project)


def test_a_page_goes_on_after_a_row_that_is_gone(
    store: Database, database: Connection, project: dict[str, UUID]
) -> None:
    where = {name: project[name] for name in ("org_id", "project_id")}
    with store.tenant(project["org_id"]) as tx:
        page = Window(2).records(tx, "list_places", PlaceView, **where)
    database.execute("delete from places where id = %s", (page.items[-1].place_id,))
    with store.tenant(project["org_id"]) as tx:
        rest = Window(9, page.next_cursor).records(tx, "list_places", PlaceView, **where)
    assert [one.name for one in (*page.items, *rest.items)] == ["0", "1", "2", "3", "4"]
