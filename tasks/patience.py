"""Waiting for PostgreSQL: a statement is tried again while the database is away, for as long as a lease."""

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from storage.database import DatabaseUnavailable
from tasks.runtime import Runtime

log = structlog.get_logger(__name__)
T = TypeVar("T")

DATABASE_RETRY_S = 0.5
"""How often a statement is tried again while PostgreSQL is away; a restart takes a few seconds."""


def patiently(runtime: Runtime, attempt: Callable[[], T]) -> T:
    """The attempt's answer; raises `DatabaseUnavailable` when the database was away for a whole lease."""
    tries = int(runtime.lease.length.total_seconds() / DATABASE_RETRY_S) + 1
    for _ in range(tries):
        try:
            return attempt()
        except DatabaseUnavailable as error:
            log.warning("database_unavailable", reason=error.reason)
            threading.Event().wait(DATABASE_RETRY_S)
    return attempt()
