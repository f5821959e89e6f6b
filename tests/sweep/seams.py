"""Where a process's boundaries are seen: its database connections and its publisher."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, event

from domain.job import Hint
from sandbox.exchange import Answer, Call
from tasks.publisher import Publisher
from tests.house import ROOT
from tests.sweep.boundaries import Boundary, Died, Fate, Kind, Watch

LONGEST_LABEL = 80
READS = re.compile(r"\s*select\s+(?!postroom\.)", re.IGNORECASE)

Raw = psycopg.Connection[Any]
Respond = Callable[[Call], Answer | None]


def _names() -> dict[str, str]:
    folder: Path = ROOT / "storage" / "sql"
    return {path.read_text(): path.stem for path in folder.glob("*.sql")}


class DatabaseSeam:
    """Listens to SQLAlchemy's engines while one process runs a job, and breaks its connections."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._names = _names()
        self._open: list[Raw] = []
        self._ending: Fate | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hear everything that this process says to PostgreSQL."""
        listeners: dict[str, Callable[..., None]] = {
            "do_connect": self._connecting,
            "before_cursor_execute": self._before,
            "after_cursor_execute": self._after,
            "commit": self._commit,
            "rollback": self._rollback,
        }
        for name, listener in listeners.items():
            event.listen(Engine, name, listener)
        try:
            yield
        finally:
            for name, listener in listeners.items():
                event.remove(Engine, name, listener)

    def cut(self) -> None:
        """End every connection, as the system does for a process that died: the server rolls back by itself."""
        for raw in self._open:
            raw.pgconn.finish()

    def _connecting(self, *_arguments: object) -> None:
        self._forbid_the_dead()

    def _rollback(self, _connection: Connection) -> None:
        self._forbid_the_dead()

    def _forbid_the_dead(self) -> None:
        if self._watch.dead and not self._watch.resting:
            raise Died

    def _before(self, connection: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        if self._watch.resting:
            return
        raw = self._raw(connection)
        fate = self._watch.cross(self._boundary(raw, statement))
        match fate:
            case Fate.DEATH:
                self._watch.end()
            case Fate.REFUSED:
                raw.pgconn.finish()
            case Fate.FROZEN:
                self._watch.stand_still()
            case _:
                self._ending = fate

    def _after(self, connection: Connection, *_rest: object) -> None:
        ending, self._ending = self._ending, None
        if self._watch.resting or ending is None:
            return
        if ending is Fate.DEATH_AFTER:
            self._watch.end()
        self._raw(connection).pgconn.finish()
        raise psycopg.OperationalError("the answer was lost")

    def _commit(self, connection: Connection) -> None:
        if self._watch.resting:
            return
        raw = self._raw(connection)
        if raw.autocommit:
            return
        fate = self._watch.cross(Boundary(Kind.COMMIT, "commit", unbound=False))
        match fate:
            case Fate.DEATH:
                self._watch.end()
            case Fate.REFUSED:
                raw.pgconn.finish()
            case Fate.DEATH_AFTER:
                raw.commit()
                self._watch.end()
            case Fate.LOST:
                # SQLAlchemy's own commit then meets the broken connection, as it would in life.
                raw.commit()
                raw.pgconn.finish()

    def _raw(self, connection: Connection) -> Raw:
        raw = connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        if raw not in self._open:
            self._open.append(raw)
        return raw

    def _boundary(self, raw: Raw, statement: str) -> Boundary:
        label = self._names.get(statement) or " ".join(statement.split())[:LONGEST_LABEL]
        return Boundary(
            Kind.STATEMENT,
            label,
            durable=raw.autocommit and not READS.match(statement),
            unbound=raw.autocommit or raw.info.transaction_status is TransactionStatus.IDLE,
        )


class WatchedPublisher(Publisher):
    """Publishes for real, notes the hints, and has each looked up: whoever is told of must be there already (P5)."""

    def __init__(self, broker_url: str, watch: Watch, told: Callable[[Sequence[Hint]], None]) -> None:
        super().__init__(broker_url)
        self._watch = watch
        self._told = told

    def publish(self, hints: Sequence[Hint]) -> bool:
        if not hints:
            return True
        label = ", ".join(sorted({hint.job_type for hint in hints}))
        fate = self._watch.cross(Boundary(Kind.HINTS, label)) if not self._watch.resting else None
        if fate is Fate.DEATH:
            self._watch.end()
        if fate is Fate.REFUSED:
            return False
        self._told(hints)
        published = super().publish(hints)
        if fate is Fate.DEATH_AFTER:
            self._watch.end()
        return published and fate is not Fate.LOST


def tap(watch: Callable[[], Watch | None], respond: Respond, provider: str) -> Respond:
    """A provider's door as the process sees it: calls pass through to the emulator unless fate strikes."""

    def answer(call: Call) -> Answer | None:
        now = watch()
        if now is None or now.resting:
            return respond(call)
        try:
            fate = now.cross(Boundary(Kind.CALL, f"{provider} {call.method} {call.path}"))
            if fate is Fate.DEATH:
                now.end()
            if fate is Fate.REFUSED:
                return None
            given = respond(call)
            if fate is Fate.DEATH_AFTER:
                now.end()
        except Died:
            return None  # the caller is no more; whoever answers it finds a closed connection
        return None if fate is Fate.LOST else given

    return answer
