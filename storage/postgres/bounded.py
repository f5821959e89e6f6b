"""psycopg's connection with a bound on each round trip, for a peer that takes every byte and never answers."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

from storage.postgres.shared_double import SharedDouble

T = TypeVar("T")

ANSWER_MARGIN_S = 3.0
"""How much longer than its own time limit a statement's answer may take: at its limit PostgreSQL ends it, and this is
for the way back."""

NETWORK: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
"""libpq's own bounds, in seconds and milliseconds. They find a peer that is gone. A proxy whose upstream is gone, or a
frozen PostgreSQL, acknowledges all that is sent, and passes all of them."""


CANCEL_WITHIN_S = 0.5
"""How long a client that gives up tries to tell the server, which may be gone."""

OVERDUE_AT = SharedDouble()
"""When an answer to this worker command was last overdue, by the monotonic clock, which is one for all processes of a
machine; 0 for never."""


class AnswerOverdue(psycopg.OperationalError):
    """The peer did not answer in time; the connection is closed."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is given up when an answer is overdue, however many bytes of it have trickled in."""

    answer_within_s = inf
    """How long one round trip may take in all."""

    answers = 1
    """How many statements' answers one round trip brings."""

    gathers = False
    """Whether statements wait for each other, and are not sent yet (`together`)."""

    made_at = 0.0
    """When it was made, by the monotonic clock."""

    began_on_standby = False
    """Whether the server was a standby then; it may have been promoted since, in the midst of a transaction."""

    @property
    def suspect(self) -> bool:
        """Whether another answer was overdue since: a network loses all of a process's connections at once."""
        return self.made_at <= OVERDUE_AT.value

    @contextmanager
    def together(self, statements: int) -> Iterator[None]:
        """Send so many statements in one go when the block ends, and read the answers of all.

        psycopg's pipeline sends each statement at once. A process that freezes between two of them keeps the locks of
        the first: PostgreSQL calls a session idle, and ends it for that, only after the sync behind the last. libpq
        sends what fits into its buffer, 64 kB, with the sync.
        """
        self.answers = statements  # each of which has a time limit of its own
        try:
            with self.pipeline() as pipeline:
                self.gathers = True
                try:
                    yield
                finally:
                    self.gathers = False
                    while pipeline.command_queue:
                        pipeline.command_queue.popleft()()
                    self.pgconn.pipeline_sync()
                    pipeline.result_queue.append(None)
        finally:
            self.answers = 1

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """As psycopg's, which every round trip goes through; raises `AnswerOverdue`.

        A `timeout` is for who waits for a notification: nothing has been asked then. A statement that waits for others
        stops where psycopg would first touch the network: what it sends is in the pipeline's queue by then.
        """
        if self.gathers:
            for _ in gen:
                gen.close()
            return None  # type: ignore[return-value]  # an `execute` answers nothing
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        limit_s = None if self.answer_within_s == inf else self.answer_within_s * self.answers
        try:
            return super().wait(gen, interval, limit_s)
        except psycopg.OperationalError as error:
            # Whatever PostgreSQL itself says, or a lost connection, ends the statement.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            # A server that never hears of it goes on, and keeps the locks and its place among `max_connections`.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=CANCEL_WITHIN_S)
            self.pgconn.finish()
            OVERDUE_AT.value = time.monotonic()
            raise AnswerOverdue(f"no answer within {limit_s} s") from error


def connect_bounded(
    conninfo: str = "",
    *,
    answer_within_s: float,
    autocommit: bool = False,
    **options: Any,  # noqa: ANN401 - libpq's parameters
) -> BoundedConnection:
    """Connect, with libpq's parameters and all bounds."""
    connection = BoundedConnection.connect(conninfo, autocommit=autocommit, **(NETWORK | options))
    connection.answer_within_s = answer_within_s
    connection.made_at = time.monotonic()
    connection.began_on_standby = connection.info.parameter_status("in_hot_standby") == "on"
    return connection
