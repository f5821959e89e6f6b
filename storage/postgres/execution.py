"""Runs SQL on a connection: returns rows with named columns, and raises our own failures for the database's errors."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import tuple_row
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from domain.diagnosis import Diagnosis
from domain.jobs.failures import ClaimLost, Failure, Forbidden, Invalid, Transient
from storage.postgres.arrays import Packed, PackedDumper
from storage.postgres.bounded import BoundedConnection
from storage.postgres.logins import GRANT, MIGRATE, SILENT, refusal
from storage.postgres.writes import DISK_FULL, refused_by_server

PARAMETER = re.compile(r"%\((\w+)\)s")

UNSTORABLE = ("text", "carries a character that PostgreSQL cannot store")
"""Field and reason of the failure; neither psycopg nor PostgreSQL says which value it was."""

Row = Any
"""A row of a result: a named tuple by column name. An invalid or repeated name becomes `_<position>`."""

Statement = tuple[str, Mapping[str, object]]
"""SQL text, and its parameters by name."""


DatabaseError = psycopg.Error
"""An error of PostgreSQL's for which there is no failure of ours: a statement that it refuses in any other way."""

AWAY = re.compile("08|25P0[34]|57P|53[023]00")
"""How an SQLSTATE begins that says: no connection, ended for its idle or long transaction, shutting down, or out of
memory or connections."""

ABORTED = re.compile("40|55P03|57014|53100")
"""The same for a deadlock, a lock that was not to be had in time, and a statement that ran out of time or disk. A limit
of PostgreSQL's own (53400, 54000) is neither: the statement is to blame, and is refused again each time."""


LOCKED, FULL = "55P03", "53100"


class DatabaseUnavailable(Transient):
    """PostgreSQL cannot be reached now, or takes no writes; `diagnosis` says why, where that is known."""

    code = "database.unavailable"

    def __init__(self, reason: str, diagnosis: Diagnosis = SILENT) -> None:
        """Keep the reason, and the cause behind it."""
        super().__init__(reason)
        self.diagnosis = diagnosis


UNMIGRATED = frozenset({"42P01", "42703", "42883", "3F000"})
"""What PostgreSQL says of a table, column, function or schema that it does not have."""


def diagnosis_of(error: Exception) -> Diagnosis | None:
    """What of the installation is to blame for a statement that failed; None when that cannot be said."""
    if isinstance(error, StatementAborted):
        return None if error.diagnosis is SILENT else error.diagnosis
    if isinstance(error, DatabaseUnavailable):
        return error.diagnosis
    code = getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None)
    if code in UNMIGRATED:
        return Diagnosis("the database is not migrated to this release", MIGRATE)
    if isinstance(error, Forbidden) and code == "42501":
        return Diagnosis(f"a right is missing: {error.reason}", GRANT)
    return None


class StatementAborted(DatabaseUnavailable):
    """PostgreSQL ended the statement for a deadlock, a time-out or a full disk; it may pass when it is tried again."""

    code = "database.aborted"


class RowLocked(StatementAborted):
    """Somebody else holds a row for longer than the statement may wait; neither is to blame."""

    code = "database.row_locked"


def is_away(error: Exception) -> bool:
    """Whether the database cannot serve for now, and the statement that raised this is not to blame."""
    return isinstance(error, DatabaseUnavailable) and not isinstance(error, StatementAborted)


def reason_of(error: Exception) -> str:
    """What is said of an error in the log; not PostgreSQL's words, for they may repeat a value."""
    return error.reason if isinstance(error, Failure) else type(error).__name__


class ConnectionLost(DatabaseUnavailable):
    """The connection was found closed; it, and those that rested in its pool, are given up."""


def fetch(
    connection: Connection,
    sql: str,
    parameters: Mapping[str, object],
    *,
    columns: Sequence[str] | None = None,
    result: int = 0,
) -> Sequence[Row]:
    """Run SQL text and return its rows; an empty list for a statement without a result.

    Of several statements, which take no parameters, the rows of the one at place `result`.

    With `columns`, rows are plain tuples of these columns in this order, and travel in PostgreSQL's binary format,
    which is shorter: for results of many rows. Raises `ValueError` for a column that the result does not have.

    psycopg runs the statement on the connection that SQLAlchemy manages, because building SQLAlchemy's result object
    takes as long as psycopg needs for the whole statement. Parameters are numbered (`prepare_connection`), because
    psycopg caches named parameters only for statements of up to 4,096 characters and parses longer ones every time.
    """
    with _lent(connection) as lent:
        plain = columns is not None
        cursor = lent.cursor(row_factory=tuple_row if plain else _named, binary=plain)
        _execute(cursor, sql, parameters)
        if result:
            cursor.set_result(result)
        rows = _rows(cursor)
        answer = cursor.pgresult
        return rows if columns is None or answer is None else _in_order(rows, answer, columns)


def fetch_together(connection: Connection, asked: Sequence[Statement]) -> list[Sequence[Row]]:
    """Run statements in one round trip, and return the rows of each; the first one that fails raises for all.

    To wait for an answer, and to be woken by it, costs a worker several times as much as the statement.
    """
    if len(asked) < 2:  # noqa: PLR2004 - one alone needs no pipeline
        return [fetch(connection, sql, parameters) for sql, parameters in asked]
    with _lent(connection) as lent:
        cursors = [lent.cursor(row_factory=_named) for _ in asked]
        with lent.together(len(asked)):
            for cursor, (sql, parameters) in zip(cursors, asked, strict=True):
                _execute(cursor, sql, parameters)
        return [_rows(cursor) for cursor in cursors]


@contextmanager
def _lent(connection: Connection) -> Iterator[BoundedConnection]:
    """Lend psycopg's connection, and raise our failures; a connection that was lost is given up."""
    with translated():
        lent = cast("BoundedConnection", connection.connection.driver_connection)
        try:
            yield lent
        except UnicodeEncodeError as error:
            # The text has half of a surrogate pair, which psycopg cannot encode as UTF-8.
            raise Invalid(*UNSTORABLE) from error
        except psycopg.Error as error:
            refused = refused_by_server(error, lent)
            if lent.closed or refused:
                # A restart of PostgreSQL, for example, has closed the idle connections of the pool, too. And the
                # URL may lead to another server by now than to the standby that refuses changes.
                connection.invalidate(error)
                connection.engine.dispose()
                if refused:
                    raise DatabaseUnavailable(refused.finding, refused) from error
                raise ConnectionLost(type(error).__name__) from error
            raise


def _execute(cursor: "psycopg.Cursor[Row]", sql: str, parameters: Mapping[str, object]) -> None:
    text, names = numbered(sql) if parameters else (sql, ())
    cursor.execute(text, [parameters[name] for name in names] or None)


def _rows(cursor: "psycopg.Cursor[Row]") -> Sequence[Row]:
    answer = cursor.pgresult
    return cursor.fetchall() if answer is not None and answer.status == ExecStatus.TUPLES_OK else []


def _in_order(rows: Sequence[Row], answer: PGresult, columns: Sequence[str]) -> Sequence[Row]:
    """The rows with these columns in this order. A result that has this order costs a look at its names, once."""
    names = [(answer.fname(place) or b"").decode() for place in range(answer.nfields)]
    if names == list(columns):
        return rows
    places = [names.index(name) for name in columns]
    return [tuple(row[place] for place in places) for row in rows]


@lru_cache(maxsize=1024)
def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Replace `%(name)s` by `$1`, `$2` and so on; returns the statement and the names in that order."""
    names = tuple(dict.fromkeys(PARAMETER.findall(sql)))
    places = {name: f"${place}" for place, name in enumerate(names, 1)}
    return PARAMETER.sub(lambda found: places[found[1]], sql).replace("%%", "%").encode(), names


def prepare_connection(connection: "psycopg.Connection[Any]", _record: object) -> None:
    """Let a new connection take numbered parameters and `Packed` arrays; SQLAlchemy's event `connect` calls this."""
    connection.cursor_factory = psycopg.RawCursor
    connection.adapters.register_dumper(Packed, PackedDumper)


def _named(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """A row factory like psycopg's `namedtuple_row`, which fails when two columns have the same name."""
    return _maker(*(column.name for column in cursor.description or ()))


@lru_cache(maxsize=1024)
def _maker(*names: str) -> Callable[[Sequence[Any]], Row]:
    kind: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]  # noqa: PYI024  # the names are known with the result
    maker: Callable[[Sequence[Any]], Row] = kind._make
    return maker


@contextmanager
def translated() -> Iterator[None]:
    """Raise our failures for the database's errors: by SQLSTATE, `DatabaseUnavailable` for a lost connection."""
    try:
        yield
    except psycopg.Error as error:
        failure = _failure(error)
        if failure is None:
            raise
        raise failure from error
    except DBAPIError as error:
        failure = _failure(error.orig)
        if failure is None:
            raise
        raise failure from error
    except PoolTimeoutError as error:
        raise DatabaseUnavailable(type(error).__name__) from error
    except InvalidRequestError as error:
        # The pool's word for having found a new connection closed twice: a server that greets and closes does that for
        # a while.
        raise ConnectionLost("it closes each connection that is opened") from error


def _failure(error: BaseException | None) -> Exception | None:
    code = getattr(error, "sqlstate", None)
    diagnostics = getattr(error, "diag", None)
    message = str(getattr(diagnostics, "message_primary", "") or "")
    match code:
        case "PR001":
            return ClaimLost(message)
        case "42501":
            return Forbidden(message)
    if unavailable := _unavailable(error, code):
        return unavailable
    invalid = _invalid(code, message, diagnostics)
    if code is None and isinstance(error, psycopg.DataError) and "NUL" in str(error):
        return Invalid(*UNSTORABLE)
    if invalid is None and isinstance(error, psycopg.DataError):
        # PostgreSQL's message is left out because it repeats the value.
        return Invalid("value", f"is refused by PostgreSQL: {type(error).__name__}")
    return invalid


def _unavailable(error: BaseException | None, code: str | None) -> DatabaseUnavailable | None:
    """What a repetition of the statement may mend; psycopg's kinds of errors do not say, for 27000 is operational."""
    name = type(error).__name__
    if code is None:
        if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return None
        refused = refusal(str(error))
        return DatabaseUnavailable(refused.finding, refused) if refused else DatabaseUnavailable(name)
    if AWAY.match(code):
        return DatabaseUnavailable(name)
    if code == LOCKED:
        return RowLocked(name)
    if code == FULL:
        return StatementAborted(DISK_FULL.finding, DISK_FULL)
    return StatementAborted(name) if ABORTED.match(code) else None


def _invalid(code: str | None, message: str, diagnostics: Any) -> Invalid | None:  # noqa: ANN401 - psycopg's diagnostics or None
    """The field and the reason when the database refused a value; None for any other error."""
    constraint = str(getattr(diagnostics, "constraint_name", None) or "")
    match code:
        case "PR002" | "PR003":
            field, _, reason = message.partition(": ")
            return Invalid(field, reason)
        case "23503" if constraint.endswith("_org_id_fkey"):
            return Invalid("org_id", "names no org")
        case "23514" if field := _checked_field(diagnostics, constraint):
            return Invalid(field, f"breaks the ledger's rule {constraint}")
        case "22003":
            return Invalid("number", "is out of the range of its column")
        case "22P05" | "22021":
            return Invalid(*UNSTORABLE)
    return None


def _checked_field(diagnostics: Any, constraint: str) -> str:  # noqa: ANN401 - psycopg's diagnostics
    """The column whose value a check refused; empty for a check over several columns, which no input can violate.

    Our domains are named like their columns, or like what several columns hold. PostgreSQL names the check of a single
    column `<table>_<column>_check`.
    """
    if diagnostics.datatype_name:
        return str(diagnostics.datatype_name)
    found = re.fullmatch(rf"{re.escape(diagnostics.table_name or '')}_(.+)_check\d*", constraint)
    return found[1] if found else ""
