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
"""How often a statement is tried that PostgreSQL itself aborts. Another transaction's lock passes sooner; a statement
that is too slow, or too large for the disk, never does."""


def retry_while_away(runtime: Runtime, call: Callable[[], T], retry_s: float = DATABASE_RETRY_S) -> T:
    """The call's answer; the call is repeated for as long as the database is away.

    Giving up would leave a claim behind that nobody works on and that the process's lease keeps alive. Only a worker
    that is stopping gives up, after a lease's length, with `DatabaseUnavailable`; its lease then ends with it.

    So is a statement whose row somebody else has locked. One that PostgreSQL aborts each time for another reason raises
    `StatementAborted` in the end.
    """
    tries_left = int(runtime.lease.length.total_seconds() / retry_s)
    aborts_left = MOST_ABORTED
    while tries_left:
        try:
            return call()
        except RowLocked as error:
            # Whoever is frozen inside a transaction holds its rows until PostgreSQL ends its session.
            log.warning("row_locked", reason=error.reason)
            threading.Event().wait(retry_s)
        except StatementAborted as error:
            log.warning("statement_aborted", reason=error.reason)
            aborts_left -= 1
            if not aborts_left:
                raise
            threading.Event().wait(retry_s)
        except DatabaseUnavailable as error:
            log.warning("database_unavailable", reason=error.reason)
            threading.Event().wait(retry_s)
        tries_left -= runtime.stopping.is_set()
    return call()
