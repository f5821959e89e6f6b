"""What the benchmark's tests share: servers of their own, as a run has them."""

from collections.abc import Iterator

import pytest

from bench.stores import Stores
from sandbox.servers.servers import run_servers


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Empty PostgreSQL and Valkey."""
    with run_servers(tmp_path_factory.mktemp("bench"), durable=False) as started:
        yield Stores(started)
