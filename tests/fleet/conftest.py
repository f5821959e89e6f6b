"""A fleet for each test, on the session's servers or on servers of its own that the test may stop and kill."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from storage.postgres.migrate import upgrade
from tests.fleet.fleet import Fleet


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without workers yet."""
    with ExitStack() as stack:
        yield Fleet(database_url, broker_url, tmp_path, stack)


@pytest.fixture
def fleet_with_own_broker(database_url: str, own_valkey: ValkeyServer, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet whose broker may be flushed, stopped and started."""
    with ExitStack() as stack:
        yield Fleet(database_url, own_valkey.url(), tmp_path, stack)


@pytest.fixture
def fleet_with_own_postgres(own_postgres: PostgresServer, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet whose database may be restarted."""
    upgrade(Settings(database_url=SecretStr(own_postgres.url())))
    with ExitStack() as stack:
        yield Fleet(own_postgres.url(), broker_url, tmp_path, stack)
