"""A fleet whose workers are real processes, behind the gateway."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from settings import Settings
from tests.fleet.fleet import Fleet
from tests.gateway.serving import serve


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without workers yet."""
    with ExitStack() as stack:
        yield Fleet(database_url, broker_url, tmp_path, stack)


@pytest.fixture
def gateway(settings: Settings, fleet: Fleet) -> Iterator[str]:
    """The URL of the fleet's gateway."""
    assert fleet.database_url == settings.database_url.get_secret_value()
    with serve(settings) as url:
        yield url


@pytest.fixture
def org(fleet: Fleet) -> object:
    """The fleet's org."""
    return fleet.org
