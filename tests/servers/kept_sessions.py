"""Sessions of PostgreSQL that rest between tests: each that begins anew looks up the catalogue and compiles functions.

A test gets a connection of its own, as psycopg makes it, over a session that `discard all` has cleaned. Only sessions
of kept databases rest.
"""

import os
import select
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import PGconn
from sqlalchemy import Engine, event
from sqlalchemy.pool import Pool

from storage.postgres.bounded import BoundedConnection
from storage.postgres.engines import ANYTHING

KEPT = "kept_"
"""How the names of kept databases begin."""

CLOSED = pq.PGconn.connect(b"port=none")
"""What a connection holds whose session rests: one that never was."""

Key = tuple[str, ...]
"""What a session was opened with: port, database, user, options, name of the application."""


@dataclass(frozen=True)
class Rest:
    """A session that no test uses."""

    session: PGconn
    answer_within_s: float
    """How long its connections wait for an answer; the options say the same in the server's words."""

    def connection(self, context: AdaptContext | None) -> BoundedConnection:
        """A new connection over it."""
        made = BoundedConnection(self.session)
        made.answer_within_s = self.answer_within_s
        made.made_at = time.monotonic()
        if context is not None:
            made._adapters = AdaptersMap(context.adapters)  # noqa: SLF001  # as psycopg's own `connect`
        return made


class RestingSessions:
    """The sessions of this process that no test uses."""

    def __init__(self) -> None:
        self._resting: dict[Key, list[Rest]] = defaultdict(list)

    def take(self, given: Mapping[str, Any]) -> BoundedConnection | None:
        """A connection by libpq's parameters; None when no session rests that was opened with them."""
        key = tuple(str(given.get(one, "")) for one in ("port", "dbname", "user", "options", "application_name"))
        while found := self._resting[key]:
            rest = found.pop()
            if _is_open(rest.session):
                return rest.connection(given.get("context"))
            rest.session.finish()
        return None

    def leave(self, connection: psycopg.Connection[Any]) -> None:
        """Close a connection and let its session rest, if that is of a kept database, and clean."""
        session = connection.pgconn
        if session.status == pq.ConnStatus.OK and session.db.startswith(KEPT.encode()) and _is_clean(session):
            words = session.port, session.db, session.user, session.options
            name = session.parameter_status(b"application_name") or b""
            key = tuple(one.decode() for one in (*words, name))
            self._resting[key].append(Rest(session, getattr(connection, "answer_within_s", inf)))
            connection.pgconn = CLOSED

    def of(self, database: str) -> list[int]:
        """The server's process ids of the sessions that rest in a database."""
        return [one.session.backend_pid for key, found in self._resting.items() for one in found if key[1] == database]

    def end(self, database: str) -> None:
        """End the sessions that rest in a database."""
        for key in [one for one in self._resting if one[1] == database]:
            for one in self._resting.pop(key):
                one.session.finish()

    def forget(self) -> None:
        """Leave the sessions alone, without a word: after a fork they are the parent's."""
        self._resting.clear()


RESTING = RestingSessions()


def keep_sessions() -> None:
    """Let the sessions of every engine rest when it closes them."""
    event.listen(Engine, "do_connect", _connect)
    event.listen(Pool, "close", _close)
    os.register_at_fork(after_in_child=RESTING.forget)


@contextmanager
def owner_session(url: str) -> Iterator[psycopg.Connection[Any]]:
    """An autocommitting connection by a URL, for a test to look by."""
    with RESTING.take(conninfo_to_dict(url)) or psycopg.connect(url) as connection:
        connection.autocommit = True
        yield connection
        RESTING.leave(connection)


def _is_open(session: PGconn) -> bool:
    """Whether PostgreSQL, which says nothing to a client that rests but farewell, has not ended it."""
    poller = select.poll()
    poller.register(session.socket, ANYTHING)
    return not poller.poll(0)


def _is_clean(session: PGconn) -> bool:
    if session.transaction_status != pq.TransactionStatus.IDLE or session.pipeline_status != pq.PipelineStatus.OFF:
        return False
    return session.exec_(b"discard all").status == pq.ExecStatus.COMMAND_OK


def _connect(
    _dialect: object, _record: object, _words: Sequence[Any], given: Mapping[str, Any]
) -> BoundedConnection | None:
    return RESTING.take(given)


def _close(connection: object, _record: object) -> None:
    if isinstance(connection, psycopg.Connection):  # an engine of asyncio has another
        RESTING.leave(connection)
