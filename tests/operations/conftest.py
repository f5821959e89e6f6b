"""What tests of operations need: a serving gateway, and keys of every role."""

import sys
from collections.abc import Iterator

import pytest
import structlog

from tests.gateway.api.conftest import client, door, stranger

__all__ = ["client", "door", "stranger"]


@pytest.fixture(autouse=True)
def _lines_of_the_gateway_go_to_stderr() -> Iterator[None]:
    """As those of every process: its thread may write one while a command's answer is read from the standard output."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    yield
    structlog.configure(**before)
