"""A test on a process of the fleet finds the catalogue published, whatever is in it; another test finds none."""

import pytest
from psycopg import Connection

from engine.catalogue import catalogue
from engine.runtime import Runtime
from tests.servers.published import Published, publish_once


def published(database: Connection) -> set[str]:
    return {name for (name,) in database.execute("select name from job_types")}


def test_with_a_process_all_types_are_published(process: Runtime, database: Connection) -> None:
    assert process
    assert published(database) == {one.name for one in catalogue}


def test_without_one_none_is(database: Connection) -> None:
    assert published(database) == set()


@pytest.mark.usefixtures("process")
def test_a_catalogue_that_is_another_by_now_is_published(database: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Published, "jobs", tuple(catalogue))  # other tests may have added to it since
    database.execute("delete from job_types")
    publish_once()
    assert published(database) == set(), "it was published in the template"
    monkeypatch.setattr(Published, "jobs", Published.jobs[1:])
    publish_once()
    assert published(database) == {one.name for one in catalogue}
