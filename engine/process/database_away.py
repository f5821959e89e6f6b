"""Waiting for PostgreSQL: a statement is tried again while the database is away; without it nothing can be done."""

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from engine.process.runtime import Runtime
from storage.postgres.execution import DatabaseUnavailable

log = structlog.get_logger(__name__)
T = TypeVar("T")

DATABASE_RETRY_S = 0.5
"""How often a statement is tried again while PostgreSQL is away; a restart takes a few seconds."""


def retry_while_away(runtime: Runtime, call: Callable[[], T]) -> T:
    """The call's answer; the call is repeated for as long as the database is away.

    Giving up would leave a claim behind that nobody works on and that the process's lease keeps alive. Only a worker
    that is stopping gives up, after a lease's length, with `DatabaseUnavailable`; its lease then ends with it.
    """
    tries_left = int(runtime.lease.length.total_seconds() / DATABASE_RETRY_S)
    while tries_left:
        try:
            return call()
        except DatabaseUnavailable as error:
            log.warning("database_unavailable", reason=error.reason)
            threading.Event().wait(DATABASE_RETRY_S)
        tries_left -= runtime.stopping.is_set()
    return call()
