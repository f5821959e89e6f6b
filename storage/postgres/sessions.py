"""Session state: what every connection begins with, and how a handler's is cleaned before another org gets it.

`docs/explanation/tenancy.md` says what PostgreSQL lets a handler leave behind, and where each kind ends.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import psycopg
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

from storage.postgres.bounded import BoundedConnection, connect_bounded

SETTINGS: Mapping[str, str] = {
    # pg_temp last: unnamed, it would be searched first.
    "search_path": "public,pg_temp",
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


def reset_session(connection: "psycopg.Connection[Any]", entry: ConnectionPoolEntry, state: PoolResetState) -> None:
    """Clean a connection that goes back to its pool; SQLAlchemy's event `reset` calls this.

    A connection that cannot be cleaned is given up, and the pool opens another.
    """
    if state.terminate_only:
        return
    try:
        connection.rollback()
        connection.autocommit = True
        cursor = connection.execute(RESET)
        cursor.set_result(-1)
        ours, is_foreign = cursor.fetchone() or ((), True)
        connection.autocommit = False
    except psycopg.Error as error:
        entry.invalidate(error)
        return
    # Every statement is run by its name: one that a handler prepared under a name of psycopg's would run in its place.
    if is_foreign or not _prepared_names(connection) <= set(ours):
        entry.invalidate()


def restore_settings(connection: "psycopg.Connection[Any]", sealed: Mapping[str, str]) -> datetime:
    """Set all settings of the open transaction as they were when it began, and what is sealed; returns when it began.

    The values are ids and hexadecimal digits.
    """
    put_on = ", ".join(f"set_config('postroom.{name}', '{value}', true)" for name, value in sealed.items())
    cursor = connection.execute(f"{RESET_SETTINGS}; select now(), {put_on}".encode())
    cursor.set_result(-1)
    ((began_at, *_),) = cursor.fetchall()
    return cast("datetime", began_at)


def _prepared_names(connection: "psycopg.Connection[Any]") -> set[str]:
    """The statements that psycopg believes to have prepared here."""
    names = connection._prepared._names  # noqa: SLF001  # psycopg tells nobody; a test asserts that the name exists
    return {name.decode() for name in names.values()}
