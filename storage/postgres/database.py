"""Connections and transactions: the ledger role for the engine, the tenant role with its org sealed in for handlers."""

import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, cast
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, event

from domain.jobs.failures import Failure
from domain.jobs.job import Origin
from settings import Settings
from storage.postgres.bounded import ANSWER_MARGIN_S, CANCEL_WITHIN_S, BoundedConnection, connect_bounded
from storage.postgres.engines import IS_READING, autocommitting_engine, make_engine, open_connection, timeouts_ms
from storage.postgres.execution import (
    ConnectionLost,
    DatabaseError,
    DatabaseUnavailable,
    StatementAborted,
    fetch,
    translated,
)
from storage.postgres.logins import AUDITOR_ROLE, LEDGER_ROLE, TENANT_ROLE, role_url
from storage.postgres.sessions import Entry, reset_session, startup_options
from storage.postgres.transaction import PINNED_TIMEOUT_S, TenantTransaction, Transaction
from storage.postgres.writes import refused_by_server

__all__ = ["Database", "PinnedConnection", "Reader", "ReadingDatabase", "TenantTransaction", "Transaction"]

PINNED_LOCK_TIMEOUT_S = 0.1
"""The longest wait for a lock there: what one tenant has locked is put off by itself, and no other job waits for it."""
LOCK_TIMEOUT_S = 0.5
"""The longest wait of the ledger role elsewhere. The engine's transactions are shorter; a handler may hold a row for as
long as it runs, and each of the few connections of a process serves all orgs."""
SESSION = "postroom:session"
"""What the name of a session of its own begins with: the relay's, whose leader an operator wants to find."""


class PinnedConnection:
    """A connection that is kept for statements that commit by themselves, and taken anew when it was lost.

    To borrow one from the pool and to give it back costs as much as a short statement, for who runs hundreds a second.
    """

    def __init__(self, engine: Engine) -> None:
        """Nothing connects yet."""
        self._engine = engine
        self._kept: Connection | None = None

    @contextmanager
    def statements(self) -> Iterator[Transaction]:
        """Use the connection; each statement commits by itself. It is given up unless PostgreSQL has answered all."""
        if self._kept is None:
            self._kept = open_connection(self._engine)
        transaction, well = Transaction(self._kept), False
        try:
            yield transaction
            well = True
        except (Failure, DatabaseError):
            well = self._is_at_rest()
            raise
        finally:
            if not well:  # a statement may still be under way on it
                self.close()
        transaction.committed()

    def _is_at_rest(self) -> bool:
        """Whether the connection can serve on; rolls back what is open. To connect anew costs many statements."""
        kept = self._kept
        if kept is None or kept.closed or kept.invalidated:
            return False
        info = cast("psycopg.Connection[Any]", kept.connection.driver_connection).info
        if info.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
            with suppress(DatabaseUnavailable, DatabaseError):
                fetch(kept, "rollback", {})
        return info.transaction_status == TransactionStatus.IDLE

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Use the connection for one transaction, which is rolled back when anything goes wrong."""
        with self.statements() as transaction:
            transaction.raw("begin")
            yield transaction
            transaction.raw("commit")

    def close(self) -> None:
        """Give the connection up."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()
        self._engine.dispose()


class Database:
    """The engines of a process, one a role. Build it after any fork; a forked child must not use its parent's."""

    def __init__(self, settings: Settings) -> None:
        """Prepare the engines; nothing connects yet."""
        self._ledger = autocommitting_engine(
            role_url(settings, LEDGER_ROLE), settings, settings.database_pool_size, lock_timeout_s=LOCK_TIMEOUT_S
        )
        self._handlers = {role: _handlers_engine(settings, role) for role in (TENANT_ROLE, AUDITOR_ROLE)}
        self._pinned = PinnedConnection(
            autocommitting_engine(
                self._ledger.url, settings, 1, most_s=PINNED_TIMEOUT_S, lock_timeout_s=PINNED_LOCK_TIMEOUT_S
            )
        )
        self._statement_s = settings.statement_timeout_s
        self._seal_key: str | None = None

    def ledger(self) -> AbstractContextManager[Transaction]:
        """Open a transaction of the engine, which sees every org."""
        return self._begun(is_reading=False)

    def looking(self, org_id: UUID | None) -> AbstractContextManager[Transaction]:
        """Open a transaction that only reads, an org's or the engine's: PostgreSQL refuses whatever would write."""
        if org_id is None:
            return self._begun(is_reading=True)
        return self._opened(Entry(self._facts(org_id, {}), is_reading=True))

    @contextmanager
    def statements(self) -> Iterator[Transaction]:
        """Lend a connection of the engine; each statement commits by itself: one round trip instead of three."""
        with _connected(self._ledger) as connection:
            transaction = Transaction(connection)
            yield transaction
        transaction.committed()

    def pinned(self) -> AbstractContextManager[Transaction]:
        """As `statements`, by a connection beside the pool's that is kept; for the process's main thread alone."""
        return self._pinned.statements()

    def pinned_transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction on the connection of `pinned`."""
        return self._pinned.transaction()

    @contextmanager
    def tenant(
        self, org_id: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        """Open a transaction that can see and touch one org's rows and no others (promise P6).

        With a project, of the tables of projects it sees and touches that project's rows alone. As the auditor it may
        write nothing but details of the audit log.
        """
        with self._opened(Entry(self._facts(org_id, {}, project_id), role=role)) as transaction:
            yield transaction

    @contextmanager
    def on_behalf(self, org_id: UUID, origin: Origin) -> Iterator[TenantTransaction]:
        """As `tenant`, for a caller whom the engine knows: what the transaction enqueues is in the caller's name."""
        facts = self._facts(org_id, {"origin": json.dumps(origin._asdict()).encode().hex()})
        with self._opened(Entry(facts)) as transaction:
            yield transaction

    @contextmanager
    def claimed(
        self, org_id: UUID, job_id: UUID, token: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        """Open a tenant's transaction that holds a job's claim until its end; raises `ClaimLost` (promise P4).

        What it enqueues is in the job's name, and of its project.
        """
        facts = self._facts(org_id, {"job": str(job_id)}, project_id)
        with self._opened(Entry(facts, (job_id, token), role=role)) as transaction:
            yield transaction

    @contextmanager
    def reading(
        self,
        org_id: UUID,
        job_id: UUID,
        token: UUID,
        project_id: UUID | None = None,
        *,
        is_snapshot: bool = False,
        role: str = TENANT_ROLE,
    ) -> Iterator[TenantTransaction]:
        """As `claimed`, for a transaction that only reads: nobody waits for it, and its commit waits for no disk.

        With `is_snapshot`, all that it reads is as it was when the transaction began.
        """
        facts = self._facts(org_id, {"job": str(job_id)}, project_id)
        entry = Entry(facts, (job_id, token), is_reading=True, is_snapshot=is_snapshot, role=role)
        with self._opened(entry) as transaction:
            yield transaction

    def _facts(self, org_id: UUID, facts: Mapping[str, str], project_id: UUID | None = None) -> Mapping[str, str]:
        """The org and facts about a transaction of its own, sealed: handlers' SQL may read, and not forge them.

        The org's seal is good with its project only: whoever takes that off, has no org.
        """
        if project_id is None:
            sealed = {"org": str(org_id), "org_seal": self._seal(str(org_id))}
        else:
            seal = self._seal(f"{org_id}/{project_id}")
            sealed = {"org": str(org_id), "project": str(project_id), "org_seal": seal}
        for name, value in facts.items():
            sealed |= {name: value, f"{name}_seal": self._seal(f"{name}:{org_id}:{value}")}
        return sealed

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a ledger connection in autocommit for leadership and notifications; closed afterwards.

        `pg_stat_activity` shows whose it is: `postroom:session:<host>:<process id>`.
        """
        url = self._ledger.url.set(drivername="postgresql").render_as_string(hide_password=False)
        name = f"{SESSION}:{socket.gethostname()}:{os.getpid()}"
        with (
            translated(),
            connect_bounded(
                url,
                answer_within_s=self._statement_s + ANSWER_MARGIN_S,
                autocommit=True,
                application_name=name,
                options=startup_options(timeouts_ms(self._statement_s, LOCK_TIMEOUT_S)),
            ) as connection,
        ):
            try:
                yield connection
            except psycopg.Error as error:
                refused = refused_by_server(error, connection)
                if refused is None:
                    raise
                raise DatabaseUnavailable(refused.finding, refused) from error

    def renew(self) -> None:
        """Let go of the connections that rest in the pools: the URL may lead to another server by now."""
        self._ledger.dispose()
        for engine in self._handlers.values():
            engine.dispose()

    def dispose(self, *, close: bool = True) -> None:
        """Drop all connections; without closing them after a fork, for they are the parent's."""
        self._ledger.dispose(close=close)
        for engine in self._handlers.values():
            engine.dispose(close=close)
        if close:
            self._pinned.close()

    @contextmanager
    def _begun(self, *, is_reading: bool) -> Iterator[Transaction]:
        with _connected(self._ledger) as connection:
            if is_reading:
                connection.execution_options(**{IS_READING: True})
            begun = connection.begin()
            with begun:
                transaction = Transaction(connection, is_reading=is_reading)
                yield transaction
                with translated():
                    begun.commit()
        transaction.committed()

    @contextmanager
    def _opened(self, entry: Entry) -> Iterator[TenantTransaction]:
        with _connected(self._handlers[entry.role]) as connection:
            transaction = TenantTransaction(connection, entry)
            yield transaction
            transaction.commit()
        transaction.committed()

    def _seal(self, words: str) -> str:
        if self._seal_key is None:
            try:
                self._seal_key = self._read_seal_key()
            except ConnectionLost:  # as in `TenantTransaction.send`
                self._seal_key = self._read_seal_key()
        key = self._seal_key
        inner = hashlib.sha256(f"{key}{words}".encode()).hexdigest()
        return hashlib.sha256(f"{key}{inner}".encode()).hexdigest()

    def _read_seal_key(self) -> str:
        with self.ledger() as transaction:
            return str(transaction.raw("select secret from tenant_seal")[0][0])


class Reader:
    """Somebody who waits for what a thread reads, and may give up: then the thread's statement ends."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._lent: BoundedConnection | None = None
        self._has_given_up = False
        self._lock = threading.Lock()

    def take(self, connection: BoundedConnection) -> None:
        """Note what is read by; raises `StatementAborted` when nobody waits any more."""
        with self._lock:
            if self._has_given_up:
                raise StatementAborted("nobody waits for the answer")
            self._lent = connection

    def leave(self) -> None:
        """Note that the connection is given back; after this, none of its statements is ended."""
        with self._lock:
            self._lent = None

    def give_up(self) -> None:
        """End the statement that runs; in a thread of its own, for the server must be reached."""
        with self._lock, suppress(psycopg.Error):
            self._has_given_up = True
            if self._lent is not None:
                self._lent.cancel_safe(timeout=CANCEL_WITHIN_S)


class ReadingDatabase(Database):
    """Connections of its own for who only looks: no transaction writes, and each statement is short.

    A statement that runs out of time raises `StatementAborted`, as one does for which nobody waits any more.
    """

    def __init__(self, settings: Settings, *, connections: int, most_s: float) -> None:
        """So many connections a role, and the seconds that a statement may take; nothing connects yet."""
        short = min(most_s, settings.statement_timeout_s)
        super().__init__(settings.model_copy(update={"database_pool_size": connections, "statement_timeout_s": short}))
        self._here = threading.local()
        event.listen(self._ledger, "connect", _only_read)
        for engine in (self._ledger, *self._handlers.values()):
            event.listen(engine, "checkout", self._lend)
            event.listen(engine, "checkin", self._take_back)

    @contextmanager
    def read_by(self, reader: Reader) -> Iterator[None]:
        """What this thread reads in the block is for somebody who may give up."""
        self._here.reader = reader
        try:
            yield
        finally:
            self._here.reader = None

    @contextmanager
    def tenant(
        self, org_id: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        """As a tenant's, and it only reads."""
        entry = Entry(self._facts(org_id, {}, project_id), is_reading=True, role=role)
        with self._opened(entry) as transaction:
            yield transaction

    def _lend(self, connection: BoundedConnection, _record: object, _lent: object) -> None:
        reader: Reader | None = getattr(self._here, "reader", None)
        if reader is not None:
            reader.take(connection)

    def _take_back(self, _connection: object, _record: object) -> None:
        reader: Reader | None = getattr(self._here, "reader", None)
        if reader is not None:
            reader.leave()


def _only_read(connection: BoundedConnection, _record: object) -> None:
    """Let a session only read, whatever transactions it has."""
    connection.execute("set default_transaction_read_only = on")
    connection.commit()


def _handlers_engine(settings: Settings, role: str) -> Engine:
    """An engine whose connections are cleaned before another org's handler gets them; nothing connects yet."""
    made = make_engine(role_url(settings, role), settings, settings.database_pool_size, is_for_handlers=True)
    event.listen(made, "reset", reset_session)
    return made


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    with open_connection(engine) as connection:
        yield connection
