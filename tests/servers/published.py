"""A template in which the catalogue is published: to publish it cost a tenth of the time of a test on a process.

Each worker of pytest-xdist makes its own, when all tests are collected: their job types are in the catalogue, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from engine.app import publish_catalogue
from engine.catalogue import Job, catalogue
from engine.runtime import runtime
from settings import Settings
from storage.jobs import job_types
from storage.postgres.database import Database
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database

COPIED = "published"
"""What the names of the template's copies have."""


class Published:
    """What this process's template has."""

    jobs: tuple[Job[Any], ...] = ()


@contextmanager
def published_template(servers: SessionServers) -> Iterator[str]:
    """Make this process's template; yields its name."""
    with temporary_database(servers, template=TEMPLATE) as url:
        Published.jobs = tuple(catalogue)
        database = Database(Settings(database_url=SecretStr(url)))
        with database.ledger() as tx:
            job_types.publish(tx, [one.line() for one in Published.jobs])
        database.dispose()
        yield url.rpartition("/")[2]


def publish_once() -> None:
    """Publish the catalogue, unless the database of this process's runtime is a copy of a template that has it."""
    name = runtime().settings.database_url.get_secret_value().rpartition("/")[2]
    if not (COPIED in name and tuple(catalogue) == Published.jobs):
        publish_catalogue()
