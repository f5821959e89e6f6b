"""Where a process's boundaries are seen: its database connections and its publisher."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg.abc import Params
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import RowFactory
from sqlalchemy import Connection, Engine, Pool, event

from domain.jobs.job import Hint
from domain.jobs.scheduling.backlog_demand import Demand
from engine.broker.hints import BUNDLE
from engine.broker.publisher import Publisher
from sandbox.emulator.exchange import Answer, Call
from storage.postgres.bounded import BoundedConnection
from storage.postgres.execution import numbered
from storage.postgres.queries import statements
from tests.sweep.boundaries import Boundary, Died, Fault, Kind, Watch

LONGEST_LABEL = 80
READS = re.compile(r"\s*select\s+(?!postroom\.)", re.IGNORECASE)

Raw = psycopg.Connection[Any]
Respond = Callable[[Call], Answer | None]
HearDemand = Callable[[str, Sequence[Demand]], None]
"""Told of a queue and the demand that was sent to it, a part for each message."""


def _names() -> dict[str, str]:
    return {numbered(text)[0].decode(): name for name, text in statements().items()}


class WatchedDatabase:
    """Watches the connections that SQLAlchemy's pools lend while one process runs a job, and breaks them."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._names = _names()
        self._open: list[Raw] = []
        self._ending: Fault | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hear everything that this process says to PostgreSQL."""
        listeners: tuple[tuple[type, str, Callable[..., None]], ...] = (
            (Engine, "do_connect", self._connecting),
            (Pool, "checkout", self._lent),
            (Engine, "commit", self._commit),
            (Engine, "rollback", self._rollback),
        )
        for target, name, listener in listeners:
            event.listen(target, name, listener)
        try:
            yield
        finally:
            for target, name, listener in listeners:
                event.remove(target, name, listener)

    def cut(self) -> None:
        """End every connection, as the system does for a process that died: the server rolls back by itself."""
        for raw in self._open:
            raw.pgconn.finish()

    def _connecting(self, *_arguments: object) -> None:
        self._forbid_the_dead()

    def _lent(self, raw: Raw, *_rest: object) -> None:
        assert isinstance(raw, psycopg.Connection)
        raw.cursor_factory = partial(WatchedCursor, receiver=self)  # type: ignore[assignment]  # psycopg only calls it
        if raw not in self._open:
            self._open.append(raw)

    def _rollback(self, _connection: Connection) -> None:
        self._forbid_the_dead()

    def _forbid_the_dead(self) -> None:
        if self._watch.dead and not self._watch.resting:
            raise Died

    def before(self, raw: Raw, statement: str) -> None:
        """A statement is about to be sent."""
        if self._watch.resting:
            return
        fault = self._watch.cross(self._boundary(raw, statement))
        match fault:
            case Fault.DEATH:
                self._watch.end()
            case Fault.REFUSED:
                raw.pgconn.finish()
            case Fault.FROZEN | Fault.OVERDUE:
                self._watch.let_others_finish()
            case _:
                self._ending = fault

    def after(self, raw: Raw) -> None:
        """It was answered, or waits for others: then those so far are answered before anything goes wrong."""
        ending, self._ending = self._ending, None
        if self._watch.resting or ending is None:
            return
        if raw.pgconn.pipeline_status is not PipelineStatus.OFF:
            assert isinstance(raw, BoundedConnection)
            raw.gathers = False
            with raw.pipeline() as pipeline:
                pipeline.sync()
        if ending is Fault.DEATH_AFTER:
            self._watch.end()
        raw.pgconn.finish()
        raise psycopg.OperationalError("the answer was lost")

    def _commit(self, connection: Connection) -> None:
        if self._watch.resting:
            return
        raw = connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        if raw.autocommit:
            return
        fault = self._watch.cross(Boundary(Kind.COMMIT, "commit", unbound=False))
        match fault:
            case Fault.DEATH:
                self._watch.end()
            case Fault.REFUSED:
                raw.pgconn.finish()
            case Fault.DEATH_AFTER:
                raw.commit()
                self._watch.end()
            case Fault.LOST:
                # SQLAlchemy's own commit then meets the broken connection, as it would in life.
                raw.commit()
                raw.pgconn.finish()

    def _boundary(self, raw: Raw, statement: str) -> Boundary:
        label = self._names.get(statement) or " ".join(statement.split())[:LONGEST_LABEL]
        return Boundary(
            Kind.STATEMENT,
            label,
            durable=raw.autocommit and not READS.match(statement),
            unbound=raw.autocommit or raw.info.transaction_status is TransactionStatus.IDLE,
        )


class WatchedCursor(psycopg.RawCursor[Any]):
    """Tells of each statement before it is sent and after it was answered."""

    def __init__(self, raw: Raw, *, receiver: WatchedDatabase, row_factory: RowFactory[Any] | None = None) -> None:
        super().__init__(raw, row_factory=row_factory or raw.row_factory)
        self._receiver = receiver

    def execute(
        self,
        query: Any,  # noqa: ANN401 - one of psycopg's overloads
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> "WatchedCursor":
        self._receiver.before(self.connection, query.decode() if isinstance(query, bytes) else query)
        super().execute(query, params, prepare=prepare, binary=binary)
        self._receiver.after(self.connection)
        return self


class WatchedPublisher(Publisher):
    """Publishes for real, notes hints and demand, and has each hint looked up: its job must be there already (P5)."""

    def __init__(
        self, broker_url: str, watch: Watch, receiver: Callable[[Sequence[Hint]], None], hear_demand: HearDemand
    ) -> None:
        super().__init__(broker_url)
        self._watch = watch
        self._receiver = receiver
        self._hear_demand = hear_demand

    def publish(self, hints: Sequence[Hint], *, bundle: int = BUNDLE) -> bool:
        if not hints:
            return True
        label = ", ".join(sorted({hint.job_type for hint in hints}))
        fault = self._watch.cross(Boundary(Kind.HINTS, label)) if not self._watch.resting else None
        if fault is Fault.DEATH:
            self._watch.end()
        if fault is Fault.REFUSED:
            return False
        self._receiver(hints)
        published = super().publish(hints, bundle=bundle)
        if fault is Fault.DEATH_AFTER:
            self._watch.end()
        return published and fault is not Fault.LOST

    def publish_demand(self, queue: str, parts: Sequence[Demand]) -> bool:
        # Only the relay sends demand, and it runs among the survivors: nothing goes wrong here.
        self._hear_demand(queue, parts)
        return super().publish_demand(queue, parts)


SHORT_LIVED = re.compile(r"(?<=/attachments/).+|(?<=/postroom/)[0-9a-f-]{36}/[0-9a-f-]{36}")
"""Ids that Gmail gives anew at each look (docs: gmail.md#sending), and those of artifacts, new in each attempt."""


def tap(watch: Callable[[], Watch | None], respond: Respond, provider: str) -> Respond:
    """A provider's endpoint as the process sees it: calls pass through to the emulator unless fault strikes."""

    def answer(call: Call) -> Answer | None:
        now = watch()
        if now is None or now.resting:
            return respond(call)
        try:
            fault = now.cross(Boundary(Kind.CALL, f"{provider} {call.method} {SHORT_LIVED.sub('…', call.path)}"))
            if fault is Fault.DEATH:
                now.end()
            if fault is Fault.REFUSED:
                return None
            given = respond(call)
            if fault is Fault.DEATH_AFTER:
                now.end()
            if fault is Fault.LATE:
                now.let_others_finish()
        except Died:
            return None  # the caller is no more; whoever answers it finds a closed connection
        return None if fault is Fault.LOST else given

    return answer
