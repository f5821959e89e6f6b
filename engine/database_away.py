"""Waiting for PostgreSQL: a statement is tried again while the database is away; without it nothing can be done."""

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from engine.runtime import Runtime
from storage.postgres.execution import DatabaseUnavailable, RowLocked, StatementAborted

log = structlog.get_logger(__name__)
T = TypeVar("T")

DATABASE_RETRY_S = 0.5
"""How often a statement is tried again while PostgreSQL is away; a restart takes a few seconds."""

MOST_ABORTED = 5
"""How often a statement is tried that PostgreSQL itself aborts: one that is too slow, or too large for the disk, never
passes."""

MOST_LOCKED = 60
"""The same for one whose row somebody else has locked, a minute in all: a worker that is frozen in a transaction holds
its rows for 15 s, until PostgreSQL ends its session."""


def retry_while_away(runtime: Runtime, call: Callable[[], T], retry_s: float = DATABASE_RETRY_S) -> T:
    """The call's answer; the call is repeated for as long as the database is away.

    Giving up would leave a claim behind that nobody works on and that the process's lease keeps alive. Only a worker
    that is stopping gives up, after a lease's length, with `DatabaseUnavailable`; its lease then ends with it.

    A statement that PostgreSQL aborts each time raises `StatementAborted` in the end.
    """
    tries_left = int(runtime.lease.length.total_seconds() / retry_s)
    left = {StatementAborted: MOST_ABORTED, RowLocked: MOST_LOCKED}
    while tries_left:
        try:
            return call()
        except StatementAborted as error:
            log.warning("statement_aborted", reason=error.reason, remedy=error.diagnosis.remedy)
            left[type(error)] -= 1
            if not left[type(error)]:
                raise
            threading.Event().wait(retry_s)
        except DatabaseUnavailable as error:
            log.warning("database_unavailable", reason=error.reason, remedy=error.diagnosis.remedy)
            threading.Event().wait(retry_s)
        tries_left -= runtime.stopping.is_set()
    return call()
