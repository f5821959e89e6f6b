"""A database that serves one test after another: each finds it in its first state.

To copy a template, to drop the copy, and what new sessions look up and compile, takes as long as a test. What cannot be
taken back, such as a change of the schema, ends the database: the next test gets a new copy.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from sandbox.servers.waiting import wait_until
from tests.servers.kept_sessions import KEPT, RESTING
from tests.servers.servers import SessionServers, temporary_database

FIRST_STATE = Path(__file__).with_suffix(".sql").read_text()
LEAVE_WITHIN_S = 1.0
"""How long PostgreSQL may take to end the sessions that a test has closed, in seconds."""


class KeptDatabase:
    """A copy of a template that lives until it is worn."""

    def __init__(self, servers: SessionServers, template: str, kind: str) -> None:
        """Nothing is copied before the first test that asks; `kind` becomes a part of the copies' names."""
        self._servers = servers
        self._template = template
        self._named = f"{KEPT}{kind}"
        self._life = ExitStack()
        self._owner: psycopg.Connection[Any] | None = None

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Lend the database to a test; yields the owner's URL."""
        owner = self._owner or self._copy()
        try:
            yield self._servers.database_url(owner.info.dbname)
        finally:
            self._go_back(owner)

    def close(self) -> None:
        """Drop the database."""
        self._owner = None
        self._life.close()

    def _copy(self) -> psycopg.Connection[Any]:
        url = self._life.enter_context(temporary_database(self._servers, template=self._template, named=self._named))
        self._owner = self._life.enter_context(psycopg.connect(url, autocommit=True))
        self._owner.execute(FIRST_STATE.encode())
        self._life.callback(RESTING.end, self._owner.info.dbname)
        return self._owner

    def _go_back(self, owner: psycopg.Connection[Any]) -> None:
        resting = RESTING.of(owner.info.dbname)

        def is_left_alone() -> bool:
            return owner.execute("select suite.is_left_alone(%s)", [resting]).fetchone() == (True,)

        with suppress(TimeoutError, psycopg.OperationalError):  # where a test has ended the owner's session
            wait_until(is_left_alone, within=LEAVE_WITHIN_S, describe="the end of sessions")
            if owner.execute("select suite.go_back()").fetchone() == (None,):
                return
        self.close()
