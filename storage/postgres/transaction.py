"""One open transaction: statements whose answers are wanted at once, and others that travel with these."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar, cast

import psycopg
from sqlalchemy import Connection

from domain.jobs.failures import Forbidden, Gone
from domain.jobs.job import Hint
from storage.postgres.execution import ConnectionLost, Row, Statement, fetch, fetch_together, translated
from storage.postgres.queries import statement
from storage.postgres.sessions import CLEAN, Entry, commit, restore_settings

PINNED_TIMEOUT_S = 10.0
"""The longest statement on the connection for claims and settlements; a hook that hangs delays them by as much."""
BRIEFLY_S = 0.05
"""The longest wait for a key by who enqueues for all orgs, and whom all orgs wait for meanwhile."""

Made = TypeVar("Made")


class Asked(Generic[Made]):
    """A statement that may still be on its way, and what is made of its rows."""

    def __init__(self, asked: Statement, make: Callable[[Sequence[Row]], Made], send: Callable[[], object]) -> None:
        """`send` sends it, with all that waits."""
        self.asked = asked
        self.rows: Sequence[Row] | None = None
        self.is_read = False
        """Whether somebody has read the answer, or met what it raises."""
        self._make = make
        self._send = send
        self._made: list[Made] = []

    @property
    def answer(self) -> Made:
        """What is made of the rows; raises what `make` raises, and what a statement of the same trip failed by.

        No `cached_property`, which until Python 3.12 has one lock for all threads: they would wait for one's database.
        """
        if not self._made:
            if self.rows is None:
                self._send()
            self.is_read = True
            self._made.append(self._make([] if self.rows is None else self.rows))
        return self._made[0]


class Transaction:
    """One open transaction; what must wait for its commit is called after it."""

    def __init__(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Wrap a connection that is inside a transaction."""
        self._connection = connection
        self.is_reading = is_reading
        """Whether PostgreSQL refuses what would write: whoever would make or lock a row only looks."""
        self._after_commit: list[Callable[[], object]] = []
        self.hints: list[Hint] = []
        """Of jobs that the transaction has enqueued, and that are to be published after the commit."""
        self._publish: Callable[[Sequence[Hint]], object] = list

    def run(self, name: str, /, **parameters: object) -> Sequence[Row]:
        """Run a statement file of `storage` and return its rows."""
        return fetch(self._connection, statement(name), parameters)

    def ask(self, name: str, make: Callable[[Sequence[Row]], Made], /, **parameters: object) -> Asked[Made]:
        """Run a statement file of `storage` whose answer is wanted later.

        In an org's transaction it travels with the next statement whose answer is wanted, in one round trip. What
        nobody has read is read before the commit, for `make` may raise what forbids that.
        """
        asked = Asked((statement(name), parameters), make, self.send)
        asked.rows = fetch(self._connection, *asked.asked)
        asked.answer  # noqa: B018 - for what it raises
        return asked

    def leave(self, name: str, make: Callable[[Sequence[Row]], Made], /, **parameters: object) -> Asked[Made]:
        """As `ask`, for a statement that raises by itself what forbids the commit: it may travel with that."""
        return self.ask(name, make, **parameters)

    def one(self, name: str, missing: str, /, **parameters: object) -> Row:
        """As `run`, of which the first row is wanted; raises `Gone` with what is `missing` where there is none."""
        return found(missing, _as_it_is)(self.run(name, **parameters))

    def first(self, name: str, make: Callable[[Row], Made], /, **parameters: object) -> Made | None:
        """The same: what `make` makes of the first row; None where there is none."""
        return first_or_none(make)(self.run(name, **parameters))

    def tuples(self, name: str, columns: Sequence[str], /, **parameters: object) -> Sequence[tuple[Any, ...]]:
        """The same, with rows as plain tuples of these columns: where rows are many, a name each costs too much."""
        self.send()
        return fetch(self._connection, statement(name), parameters, columns=columns)

    def raw(
        self, sql: str, parameters: Mapping[str, object] | None = None, *, columns: Sequence[str] | None = None
    ) -> Sequence[Row]:
        """Run SQL text with `%(name)s` parameters; row-level security is what keeps a handler's inside its org.

        With `columns`, rows are plain tuples of these.
        """
        self.send()
        return fetch(self._connection, sql, parameters or {}, columns=columns)

    def driver(self) -> "psycopg.Connection[Any]":
        """The driver's connection, for COPY, which goes by no statement of ours."""
        self.send()
        return cast("psycopg.Connection[Any]", self._connection.connection.driver_connection)

    def send(self) -> None:
        """Send what waits, and read the answers."""

    def wait_briefly(self) -> None:
        """Let no statement of this transaction wait for long; it raises `StatementAborted` then."""
        self.raw(
            "select set_config('lock_timeout', %(lock)s, true), set_config('statement_timeout', %(longest)s, true)",
            {"lock": f"{BRIEFLY_S * 1000:.0f}ms", "longest": f"{PINNED_TIMEOUT_S * 1000:.0f}ms"},
        )

    def after_commit(self, call: Callable[[], object]) -> None:
        """Call this once the transaction has committed; never when it is rolled back (promise P5)."""
        self._after_commit.append(call)

    def publish(self, hints: Sequence[Hint], publish: Callable[[Sequence[Hint]], object]) -> None:
        """Publish these after the commit, with all others of the transaction, when the calls that wait were made."""
        self.hints += hints
        self._publish = publish

    def committed(self) -> None:
        """Make the calls that waited for the commit."""
        for call in self._after_commit:
            call()
        if self.hints:
            self._publish(tuple(self.hints))
            self.hints.clear()


class TenantTransaction(Transaction):
    """One open transaction of an org, in which a handler's SQL may have run.

    It begins in the round trip of its first statement, which raises `ClaimLost` where a claim was to be held.
    """

    def __init__(self, connection: Connection, entry: Entry) -> None:
        """Nothing is sent yet."""
        super().__init__(connection, is_reading=entry.is_reading)
        self._sealed = entry.sealed
        self._waiting: list[Asked[Any]] = [Asked(one, as_they_are, self.send) for one in entry.statements]
        self._began = self._waiting[-1]
        self._has_begun = False
        self.holds = None if entry.is_reading else entry.claim
        """The job and the token of the claim that is held until the transaction ends."""
        self._unread: list[Asked[Any]] = []
        self.is_clean = True
        """Whether only statements of `storage` have run, none of which leaves anything in the session."""

    @property
    def cancel_reason(self) -> str | None:
        """Why the job whose claim is held should stop; until the transaction ends nobody cancels it."""
        reason: str | None = self._began.answer[0].reason
        return reason

    def run(self, name: str, /, **parameters: object) -> Sequence[Row]:
        """As for any transaction; what waits travels with it."""
        if not self._waiting:
            return super().run(name, **parameters)
        return self._wait(Asked((statement(name), parameters), as_they_are, self.send)).answer

    def ask(self, name: str, make: Callable[[Sequence[Row]], Made], /, **parameters: object) -> Asked[Made]:
        """As for any transaction; nothing is sent yet."""
        asked = self.leave(name, make, **parameters)
        self._unread.append(asked)
        return asked

    def leave(self, name: str, make: Callable[[Sequence[Row]], Made], /, **parameters: object) -> Asked[Made]:
        """As for any transaction; nothing is sent yet."""
        return self._wait(Asked((statement(name), parameters), make, self.send))

    def _wait(self, asked: Asked[Made]) -> Asked[Made]:
        self._waiting.append(asked)
        return asked

    def raw(
        self, sql: str, parameters: Mapping[str, object] | None = None, *, columns: Sequence[str] | None = None
    ) -> Sequence[Row]:
        """As for any transaction; the text may leave anything in the session."""
        self.is_clean = False
        return super().raw(sql, parameters, columns=columns)

    def send(self) -> None:
        """Send what waits, and read the answers."""
        self._travel(partial(fetch_together, self._connection))

    def commit(self) -> None:
        """Commit, with what waits; where anything may have been written, what must be read by then is read before."""
        if not self.is_reading:
            if not self._has_begun:
                self.send()
            for one in self._unread:
                one.is_read or one.answer  # noqa: B018 - for what it raises
        self._travel(partial(commit, self._connection, is_clean=self.is_clean))

    def _travel(self, trip: Callable[[Sequence[Statement]], Sequence[Sequence[Row]]]) -> None:
        """Make one round trip with what waits.

        The connection may have rested in the pool while PostgreSQL was restarted. The first trip finds that out before
        anything is committed; then another connection is opened, once, and no attempt of a job is spent.
        """
        waiting, self._waiting = self._waiting, []
        asked = [one.asked for one in waiting]
        if not self._has_begun:
            self._connection.info.pop(CLEAN, None)
        try:
            answers = trip(asked)
        except ConnectionLost:
            if self._has_begun:
                raise
            answers = trip(asked)
        self._has_begun = True
        for one, rows in zip(waiting, answers, strict=True):
            one.rows = rows

    def restore(self) -> None:
        """Undo what a handler's SQL has set, before the engine writes in the same transaction.

        Raises `Forbidden` when that SQL has ended the transaction: what it wrote no longer depends on the claim.
        """
        if self.is_clean:
            return
        self.send()
        with translated():
            began_at = restore_settings(self.driver(), self._sealed)
        if began_at != self._began.answer[0].began_at:
            raise Forbidden("a handler's statement ended its transaction")


def found(missing: str, make: Callable[[Row], Made]) -> Callable[[Sequence[Row]], Made]:
    """Makes something of the first row; raises `Gone` with what is `missing` where there is none."""

    def first(rows: Sequence[Row]) -> Made:
        if not rows:
            raise Gone(missing)
        return make(rows[0])

    return first


def first_or_none(make: Callable[[Row], Made]) -> Callable[[Sequence[Row]], Made | None]:
    """Makes something of the first row; None where there is none."""
    return lambda rows: make(rows[0]) if rows else None


def as_they_are(rows: Sequence[Row]) -> Sequence[Row]:
    """Makes nothing of the rows."""
    return rows


def _as_it_is(row: Row) -> Row:
    return row
