"""Session state: what every connection begins with, and how a handler's is cleaned before another org gets it.

`docs/explanation/tenancy.md` says what PostgreSQL lets a handler leave behind, and where each kind ends.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

from domain.jobs.failures import Forbidden
from storage.postgres.bounded import BoundedConnection, connect_bounded
from storage.postgres.execution import Row, Statement, fetch, fetch_together, translated
from storage.postgres.logins import TENANT_ROLE

SEARCH_PATH = "public,pg_temp"
"""Where a name without a schema is looked for, and made. pg_temp last: unnamed, it would be searched first."""

SETTINGS: Mapping[str, str] = {
    "search_path": SEARCH_PATH,
    "timezone": "UTC",
    "datestyle": "ISO,MDY",
    "intervalstyle": "postgres",
    "lock_timeout": "0",
    "transaction_timeout": "0",
    "idle_session_timeout": "0",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": r"read\ committed",
    # A settlement that was answered must outlive a crash of the server (promise P1).
    "synchronous_commit": "on",
    "row_security": "on",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "plan_cache_mode": "auto",
    # Every statement goes by keys; a plan that is kept since a table was small would read all of what grew.
    "enable_seqscan": "off",
    "plpgsql.extra_errors": "none",
    "plpgsql.extra_warnings": "none",
}
"""What a session is given at its start, beside its time-outs.

What a client asks for at the start stands above what `ALTER ROLE` sets, so a role's settings cannot change these; and
they are what RESET goes back to. `default_transaction_read_only` is not among them: who sets it wants no writes.
"""

SET_BY_ROLE = "select source in ('user', 'database user') from pg_settings where name = 'default_transaction_read_only'"

RESET_SETTINGS = "reset session authorization; reset all"
"""Every setting as the session began; those of the org go, too."""

CLEAN_UP = "close all; unlisten *; discard temp; select pg_advisory_unlock_all()"
LIST_PREPARED = (
    "select coalesce(array_agg(name) filter (where not from_sql), '{}') as ours, bool_or(from_sql) as foreign"
    " from pg_prepared_statements"
)
ENTERS = "select now() as began_at"
"""How the statement begins that says whose a transaction is."""
CLEAN = "postroom:clean"
"""Where a connection of the pool notes that its last transaction left nothing, or was cleaned with its commit."""
RESET = f"{RESET_SETTINGS}; {CLEAN_UP}; {LIST_PREPARED}"
"""One round trip. Not DISCARD ALL, which would drop the statements that psycopg has prepared, and their plans."""


def startup_options(timeouts_ms: Mapping[str, int]) -> str:
    """The `options` of a connection: our settings, and the time-outs of its use."""
    return " ".join(f"-c {name}={value}" for name, value in {**SETTINGS, **timeouts_ms}.items())


def connect_tenant(
    conninfo: str = "",
    *,
    answer_within_s: float,
    options: str,
    **given: Any,  # noqa: ANN401 - libpq's parameters
) -> BoundedConnection:
    """Connect for handlers, and let the server and the database say that it only reads, but not their own role.

    A handler can alter that role, and all orgs' handlers would wait for somebody to undo it.
    """
    opened = connect_bounded(conninfo, answer_within_s=answer_within_s, options=options, **given)
    if opened.info.parameter_status("default_transaction_read_only") != "on":
        return opened
    try:
        ((is_set_by_role,),) = opened.execute(SET_BY_ROLE).fetchall()
        opened.rollback()
    except psycopg.Error:
        opened.close()
        raise
    if not is_set_by_role:
        return opened
    opened.close()
    options += " -c default_transaction_read_only=off"
    return connect_bounded(conninfo, answer_within_s=answer_within_s, options=options, **given)


class Entry(NamedTuple):
    """How a transaction of the tenants' begins."""

    sealed: Mapping[str, str]
    """Settings of the transaction, with what proves that the engine made them: ids and hexadecimal digits."""
    claim: tuple[UUID, UUID] | None = None
    """The job and the token of the claim under which the transaction acts."""
    is_reading: bool = False
    """Whether the transaction only reads: the claim is looked at then, and not locked."""
    is_snapshot: bool = False
    """Whether a transaction that only reads sees everything as it was when it began."""
    role: str = TENANT_ROLE
    """Who logs in."""

    @property
    def statements(self) -> tuple[Statement, Statement]:
        """What begins the transaction: the second answers when that was, and why the job should stop.

        It raises `ClaimLost`.
        """
        begin = "begin isolation level repeatable read" if self.is_snapshot else "begin"
        begin += " read only" if self.is_reading else ""
        values: dict[str, object] = dict(self.sealed)
        needs = ""
        if self.claim is not None:
            needs = "look_at_claim" if self.is_reading else "hold_claim"
            values["held_job"], values["held_token"] = self.claim
        return (begin, {}), (_entry_words(tuple(self.sealed), needs), values)


@cache
def _entry_words(names: tuple[str, ...], needs: str) -> str:
    """The statement that sets these settings, and then needs the claim: columns are computed from the left."""
    words = [ENTERS, *(f"set_config('postroom.{name}', %({name})s, true)" for name in names)]
    return ", ".join(words) + (f", postroom.{needs}(%(held_job)s, %(held_token)s) as reason" if needs else "")


def commit(connection: Connection, waiting: Sequence[Statement], *, is_clean: bool) -> list[Sequence[Row]]:
    """Run what waits, commit, and clean the session for the next org; returns the rows of what waited.

    A session in which only statements of `storage` have run is clean: then all is one round trip. Raises `Forbidden`
    where one of them had failed, and PostgreSQL would roll back without a word.
    """
    with translated():
        lent = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    if lent.info.transaction_status == TransactionStatus.INERROR:
        raise Forbidden("a statement failed, and the transaction cannot be committed")
    if is_clean:
        *rows, _ = fetch_together(connection, [*waiting, ("commit", {})])
        connection.info[CLEAN] = True
        return rows
    rows = fetch_together(connection, waiting)
    if _is_ours(lent, fetch(connection, f"commit; {RESET}", {}, result=-1)):
        connection.info[CLEAN] = True
    return rows


def reset_session(connection: "psycopg.Connection[Any]", entry: ConnectionPoolEntry, state: PoolResetState) -> None:
    """Clean a connection that goes back to its pool, unless its commit did; SQLAlchemy's event `reset` calls this.

    A connection that cannot be cleaned is given up, and the pool opens another.
    """
    if state.terminate_only or entry.info.pop(CLEAN, False):
        return
    try:
        connection.rollback()
        cursor = connection.execute(RESET)
        cursor.set_result(-1)
        is_ours = _is_ours(connection, cursor.fetchall())
    except psycopg.Error as error:
        entry.invalidate(error)
        return
    if not is_ours:
        entry.invalidate()


def _is_ours(connection: "psycopg.Connection[Any]", listed: Sequence[Any]) -> bool:
    """Whether all prepared statements are psycopg's, and all of psycopg's are there.

    Every statement is run by its name: one that a handler prepared under a name of psycopg's would run in its place.
    """
    ((ours, is_foreign),) = listed
    return not is_foreign and _prepared_names(connection) <= set(ours)


def restore_settings(connection: "psycopg.Connection[Any]", sealed: Mapping[str, str]) -> datetime:
    """Set all settings of the open transaction as when it began, and what is sealed; returns when it began."""
    cursor = connection.execute(f"{RESET_SETTINGS}; select now(), {_put_on(sealed)}".encode())
    cursor.set_result(-1)
    ((began_at, *_),) = cursor.fetchall()
    return cast("datetime", began_at)


def _put_on(sealed: Mapping[str, str]) -> str:
    return ", ".join(f"set_config('postroom.{name}', '{value}', true)" for name, value in sealed.items())


def _prepared_names(connection: "psycopg.Connection[Any]") -> set[str]:
    """The statements that psycopg believes to have prepared here."""
    names = connection._prepared._names  # noqa: SLF001  # psycopg tells nobody; a test asserts that the name exists
    return {name.decode() for name in names.values()}
