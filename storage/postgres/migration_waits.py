"""Watches the session that migrates from another: says whom it waits for, and ends it when PostgreSQL is silent."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import structlog
from sqlalchemy import URL

from domain.jobs.failures import Transient
from domain.log_limit import LogLimit
from storage.postgres.bounded import AnswerOverdue, BoundedConnection, connect_bounded
from storage.postgres.migration_session import MIGRATING, MigrationSession, lift_time_limits
from storage.postgres.other_sessions import Blocker, find_blocker

log = structlog.get_logger(__name__)

LOOK_S = 0.2
"""How often the session is looked at: a tenth of what it waits for a table (`LOCK_WAIT`)."""

ANSWER_S = 10.0
"""How long the answer to a look may take before PostgreSQL is called silent."""

RETRY_S = 10.0
"""How long after a connection that was refused or ended another is opened."""

END_S = 5.0
"""How long the end of the looking is waited for: a PostgreSQL that is silent by then keeps no migrator from its end."""


class WaitWatch(threading.Thread):
    """Looks who is in the way of the session that migrates, which cannot look itself while it waits."""

    def __init__(self, url: URL, session: MigrationSession, silent_s: float) -> None:
        """Prepare; `start` begins."""
        super().__init__(name="migration waits", daemon=True)
        _, self._options = url.get_dialect()().create_connect_args(url)
        self._options["application_name"] = f"{MIGRATING}: watch"
        self._session = session
        self._silent_s = silent_s
        self._ended = threading.Event()
        self._said = LogLimit()
        self._silence = LogLimit()
        self._is_unwatched = False
        self._answered_at = time.monotonic()
        self.blocker = Blocker()

    def run(self) -> None:
        """Look until the end; without a connection of its own nobody is told for now, and the migration goes on."""
        # A migration that ends by the first look needs no other connection.
        while not self._ended.wait(LOOK_S):
            try:
                answer_s = min(ANSWER_S, self._silent_s)
                with closing(connect_bounded(answer_within_s=answer_s, autocommit=True, **self._options)) as connection:
                    self._look(connection)
            except (AnswerOverdue, psycopg.errors.ConnectionTimeout):
                if self._is_silent_for_good():
                    return
            except psycopg.Error as error:
                self._leave_unwatched(error)

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join(END_S)

    def given_up(self) -> Transient:
        """What to raise for a migration that has waited for too long."""
        table, holder = self.blocker.table, self.blocker.session
        if table is not None and holder is None:
            words = f"{table}, which no session has had for long; migrate again when less is done with it"
        else:
            words = f"{table or 'a table'}, which {holder or 'another session'} has; end that session,"
            words += " by pg_terminate_backend or where it runs, and migrate again"
        return Transient(f"a migration waited too long for {words}", code="database.locked")

    def _look(self, connection: BoundedConnection) -> None:
        lift_time_limits(connection)
        while True:
            self.blocker.note(find_blocker(connection, self._session.pid))
            self._answered_at = time.monotonic()
            found = self.blocker.session
            if found is not None and self._said.note(time.monotonic()):
                log.warning("migration_waits", table=found.relation, holder=str(found), state=found.state)
            if self._ended.wait(LOOK_S):
                return

    def _leave_unwatched(self, error: psycopg.Error) -> None:
        """Say once that nobody looks, and pause: the owner may have one connection, or somebody has ended this one."""
        self._answered_at = time.monotonic()  # whoever refuses, answers
        if not self._is_unwatched:
            log.warning("migration_not_watched", error=type(error).__name__)
        self._is_unwatched = True
        self._ended.wait(min(RETRY_S, self._silent_s))

    def _is_silent_for_good(self) -> bool:
        """Say that PostgreSQL is silent; end what waits for it when that has lasted for too long."""
        silent_for_s = time.monotonic() - self._answered_at
        if self._silence.note(time.monotonic()):
            log.warning("migration_unanswered", reason="PostgreSQL does not answer", ends_after_s=self._silent_s)
        if silent_for_s < self._silent_s:
            return False
        if not self._ended.is_set():
            self._session.cut(silent_for_s)
        return True


@contextmanager
def watched(url: URL, session: MigrationSession, silent_s: float) -> Iterator[WaitWatch]:
    """Watch what this session does in the block."""
    watch = WaitWatch(url, session, silent_s)
    watch.start()
    try:
        yield watch
    finally:
        watch.end()
