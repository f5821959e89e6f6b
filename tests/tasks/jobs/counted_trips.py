"""What a process commits and how often it waits for PostgreSQL, and the table that keeps both from growing.

A transaction is a commit of several statements, or one statement that commits by itself. A trip is one wait for an
answer: of one statement, or of several that travel together.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import Params
from psycopg.rows import RowFactory
from sqlalchemy import Connection, Engine, Pool, event

from storage.postgres.execution import numbered
from storage.postgres.queries import statements
from storage.postgres.sessions import ENTERS, RESET
from tests.doubles.inline_worker import MAKE_DUE

TRIPS = Path(__file__).with_name("trips.txt")
LINE = "{name}: {transactions} transactions, {trips} trips"

SHARED = {"claim_jobs", "settle_jobs", "start_jobs"}
"""Statements of the engine for all jobs of a batch."""

NAMES = {numbered(text)[0].decode(): name for name, text in statements().items()}
"""The name of each statement file, by its text."""

DUE = numbered(MAKE_DUE)[0].decode()

Raw = psycopg.Connection[Any]


@dataclass
class Counter:
    """What this process commits."""

    own: list[list[str]] = field(default_factory=list)
    """The statements of each transaction of the job, in order."""
    trips: list[list[str]] = field(default_factory=list)
    """The statements of each round trip of the job, in order."""
    shared: int = 0
    _open: dict[int, list[str]] = field(default_factory=dict)
    _pipeline: object = None
    _begun: int = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Listen to the connections that SQLAlchemy's pools lend."""
        event.listen(Pool, "checkout", self._lent)
        event.listen(Engine, "commit", self._commit)
        try:
            yield
        finally:
            event.remove(Pool, "checkout", self._lent)
            event.remove(Engine, "commit", self._commit)

    def sent(self, raw: Raw, text: str) -> None:
        """Note a statement, unless it is the double's, which makes jobs due, or cleans a connection for the pool."""
        if text in (DUE, RESET):
            return
        name = NAMES.get(text, text[:50])
        if name in SHARED:
            self.shared += 1
            return
        self._travel(raw, name)
        if text.startswith(("begin", ENTERS)):
            self._open[id(raw)] = []
            self._begun = len(self.trips) - 1
        elif text.startswith("commit"):
            self._close(raw)
        elif raw.autocommit and id(raw) not in self._open:
            self.own.append([name])
        else:
            self._open.setdefault(id(raw), []).append(name)

    def _travel(self, raw: Raw, name: str) -> None:
        pipeline = raw._pipeline  # noqa: SLF001  # psycopg tells nobody which statements travel together
        if pipeline is None or pipeline is not self._pipeline:
            self.trips.append([])
        self.trips[-1].append(name)
        self._pipeline = pipeline

    def _lent(self, raw: Raw, *_rest: object) -> None:
        raw.cursor_factory = partial(CountedCursor, counter=self)  # type: ignore[assignment]  # psycopg only calls it

    def _commit(self, connection: Connection) -> None:
        if self._open.get(id(connection.connection.driver_connection)):
            self.trips.append(["commit"])
        else:  # of the double's own
            del self.trips[self._begun :]
        self._close(connection.connection.driver_connection)

    def _close(self, raw: object) -> None:
        statements = self._open.pop(id(raw), [])
        if statements:
            self.own.append(statements)


class CountedCursor(psycopg.RawCursor[Any]):
    """Tells of each statement before it is sent."""

    def __init__(self, raw: Raw, *, counter: Counter, row_factory: RowFactory[Any] | None = None) -> None:
        super().__init__(raw, row_factory=row_factory or raw.row_factory)
        self._counter = counter

    def execute(
        self,
        query: Any,  # noqa: ANN401 - one of psycopg's overloads
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> "CountedCursor":
        self._counter.sent(self.connection, query.decode() if isinstance(query, bytes) else query)
        super().execute(query, params, prepare=prepare, binary=binary)
        return self


class Taken(NamedTuple):
    """How many transactions and trips a job takes."""

    transactions: int
    trips: int


def kept() -> dict[str, Taken]:
    """What the table says, by job type and the path that it took."""
    lines = (re.findall(r"(.+): (\d+) transactions, (\d+) trips", line) for line in TRIPS.read_text().splitlines())
    return {name: Taken(int(transactions), int(trips)) for ((name, transactions, trips),) in lines}


def keep(name: str, taken: Taken) -> None:
    """Write one line of the table anew."""
    lines = kept() | {name: taken}
    TRIPS.write_text("".join(f"{LINE.format(name=one, **lines[one]._asdict())}\n" for one in sorted(lines)))
