"""One RabbitMQ for the session, because its start takes seconds of two cores, and a virtual host for each fleet."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox.servers.rabbitmq_server import RabbitServer, is_installed
from tests.fleet.fleet import Fleet


@pytest.fixture(scope="session")
def rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitServer]:
    """The server; a test that kills it starts it again."""
    if not is_installed():
        pytest.skip("RabbitMQ is not installed here")
    with RabbitServer(tmp_path_factory.mktemp("rabbit")) as server:
        yield server


@pytest.fixture
def fleet_on_rabbitmq(database_url: str, rabbit: RabbitServer, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet whose broker is RabbitMQ; skipped where that is not installed."""
    host = uuid4().hex
    rabbit.add_virtual_host(host)
    with ExitStack() as stack:
        yield Fleet(database_url, rabbit.url(host=host), tmp_path, stack)
