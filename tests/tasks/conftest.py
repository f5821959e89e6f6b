"""A process of the fleet inside the test's own, and an org for its jobs."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from psycopg import Connection

from settings import Settings
from tasks.app import publish_catalogue
from tasks.lease import renew
from tasks.runtime import Runtime, install
from tests.factories import make_org


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    """A process of the fleet, inside the test's own."""
    made = Runtime(settings, dice=lambda: 0.5)
    install(made)
    publish_catalogue()
    renew(made)
    yield made
    install(None)
    made.close()


@pytest.fixture
def org(database: Connection) -> UUID:
    return make_org(database)
