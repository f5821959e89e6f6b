"""The one session that migrates: while it lives, no other migrator begins, and no time limit of its login ends it."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event
from typing import Any

import psycopg
import structlog
from psycopg.rows import dict_row
from sqlalchemy import URL, Engine, StaticPool, create_engine
from sqlalchemy.exc import DBAPIError

from domain.diagnosis import Diagnosis
from domain.jobs.failures import Transient
from domain.log_limit import LogLimit
from storage.postgres.bounded import BoundedConnection, connect_bounded
from storage.postgres.execution import DatabaseUnavailable
from storage.postgres.migration_rights import refuse_without_rights
from storage.postgres.other_sessions import find_holder
from storage.postgres.writes import QUESTION, why_refused

log = structlog.get_logger(__name__)

MIGRATING = "postroom migrate"
"""The application name of the session: by it whoever must end a migration knows which session to end."""

ONE_AT_A_TIME = 8_217_603_144
"""The advisory lock of whoever migrates a database; any number that nothing else in it uses."""
TRY_S = 0.2
"""How often the lock is asked for. No statement waits for it: who builds an index beside running fleets waits for every
statement that is older, and so for one that waits for the builder."""

LOCK_WAIT = "2s"
"""How long a migration waits for a table: whoever wants it next waits behind the migration, however short his own lock
is. A migration that gives up has changed nothing, and is tried again (`storage.postgres.migrate`)."""

LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout", "idle_session_timeout")

ENDED = Diagnosis("the session that migrates was ended, or PostgreSQL was stopped", "migrate again", lasts=False)

NEVER = Event()
"""To wait for it is to pause."""


class MigrationSession:
    """A session of PostgreSQL with the lock of migrators; for all that a migrator does, so that both end together.

    With the lock in a session of its own, to end that one lets another migrator in while the first goes on.
    """

    def __init__(self, session: BoundedConnection) -> None:
        """Take over an open session."""
        self._session = session
        self.pid = session.info.backend_pid
        self.engine: Engine = create_engine("postgresql+psycopg://", creator=lambda: session, poolclass=StaticPool)
        """Each of its connections is this session; there is never another, for another would not have the lock."""
        self.silent_for_s: float | None = None
        """How long PostgreSQL had been silent when the session was cut."""

    def limit_lock_waits(self, most: str) -> None:
        """Let no statement wait for a lock for longer than this, until told otherwise."""
        self._session.execute(f"set lock_timeout = '{most}'".encode())
        self._session.commit()

    def cut(self, silent_for_s: float) -> None:
        """End the session from another thread, for a PostgreSQL that has been silent for so long."""
        self.silent_for_s = silent_for_s
        # An error: it has ended meanwhile.
        with suppress(psycopg.OperationalError), socket.socket(fileno=os.dup(self._session.fileno())) as lent:
            lent.shutdown(socket.SHUT_RDWR)

    def why_it_ended(self) -> DatabaseUnavailable | None:
        """The failure to raise for a session that has ended; None while it lives."""
        if not self._session.closed:
            return None
        cause = ENDED
        if self.silent_for_s is not None:
            cause = Diagnosis(
                f"it has not answered for {self.silent_for_s:.0f} s", "see that it runs, and migrate again"
            )
        return DatabaseUnavailable(cause.finding, cause)


@contextmanager
def only_migrator(
    url: URL, wait_s: float, answer_s: float, pause: Callable[[float], object] = NEVER.wait
) -> Iterator[MigrationSession]:
    """Open the session, and wait for its turn, with a `pause` after each look.

    Raises `Forbidden` for an owner that lacks a right, `Transient`, which names who has the lock, when that is for too
    long, and `DatabaseUnavailable` when the server takes no writes or is silent for `answer_s`, or the session ends.
    """
    _, options = url.get_dialect()().create_connect_args(url)
    options["application_name"] = MIGRATING
    with closing(connect_bounded(answer_within_s=answer_s, autocommit=True, **options)) as opened:
        lift_time_limits(opened)
        _refuse_without_writes(opened)
        refuse_without_rights(opened)
        _wait_for_turn(opened, wait_s, pause)
        opened.autocommit = False
        opened.answer_within_s = float("inf")  # a statement of a migration takes as long as its table is large
        session = MigrationSession(opened)
        try:
            yield session
        except (psycopg.Error, DBAPIError, DatabaseUnavailable) as error:
            ended = session.why_it_ended()
            if ended is None:
                raise
            raise ended from error


def _refuse_without_writes(session: psycopg.Connection[Any]) -> None:
    with session.cursor(row_factory=dict_row) as cursor:
        answer = cursor.execute(QUESTION).fetchone() or {}
    cause = why_refused(is_standby=answer["is_standby"], is_read_only=answer["is_read_only"])
    if cause is not None:
        raise DatabaseUnavailable(cause.finding, cause)


def lift_time_limits(session: psycopg.Connection[Any]) -> None:
    """Let this session take as long as it takes: what is set for its login is meant for sessions that hang."""
    session.execute(";".join(f"set {limit} = 0" for limit in LIMITS).encode())


def _wait_for_turn(session: psycopg.Connection[Any], wait_s: float, pause: Callable[[float], object]) -> None:
    """Take the lock for as long as the session lives: migrations commit, and build indexes outside of transactions."""
    ends_at = time.monotonic() + wait_s
    said = LogLimit()
    while session.execute("select pg_try_advisory_lock(%s)", (ONE_AT_A_TIME,)).fetchone() != (True,):
        holder = find_holder(session, ONE_AT_A_TIME)
        if time.monotonic() > ends_at:
            raise Transient(
                f"another process has been migrating this database for too long: {holder or 'it has just ended'};"
                " wait for it, or end that session, and migrate again",
                code="database.locked",
            )
        if said.note(time.monotonic()):
            log.warning("migration_waits", reason="another process migrates this database", holder=str(holder))
        pause(TRY_S)
