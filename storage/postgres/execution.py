"""Statements on a lent connection: answers become rows with names, the database's errors our failures."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import psycopg
from psycopg.pq import ExecStatus
from psycopg.rows import tuple_row
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from domain.jobs.failures import ClaimLost, Forbidden, Invalid, Transient
from storage.postgres.arrays import Packed, PackedDumper

PARAMETER = re.compile(r"%\((\w+)\)s")

UNSTORABLE = ("text", "carries a character that PostgreSQL cannot store")
"""The field and the reason; nobody says which text it was."""

Row = Any
"""A row of an answer: a named tuple by the names of the statement's columns, where they are names and the only ones."""


class DatabaseUnavailable(Transient):
    """PostgreSQL cannot be reached now."""

    code = "database.unavailable"


def fetch(connection: Connection, sql: str, parameters: Mapping[str, object], *, named: bool = True) -> Sequence[Row]:
    """Run SQL text and return its rows, none when it returns none.

    Those that are not to be `named` are many: they come as plain tuples, and in the binary format, for it is shorter.

    psycopg runs it on the connection that SQLAlchemy lends: to make a result of SQLAlchemy's out of the answer takes as
    long as all that psycopg does for a single statement. The connection's cursors take numbered parameters
    (`prepare_connection`), or psycopg would look for the names in each statement of more than 4,096 letters each time.
    """
    text, names = numbered(sql) if parameters else (sql, ())
    with translated():
        lent = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
        try:
            cursor = lent.cursor(row_factory=_named if named else tuple_row, binary=not named)
            cursor.execute(text, [parameters[name] for name in names] or None)
            answer = cursor.pgresult
            return cursor.fetchall() if answer is not None and answer.status == ExecStatus.TUPLES_OK else []
        except UnicodeEncodeError as error:
            # Half of a surrogate pair: psycopg does not get as far as PostgreSQL with it.
            raise Invalid(*UNSTORABLE) from error
        except psycopg.Error as error:
            if lent.closed:
                # What ended this one, a restart perhaps, has ended those that rest in the pool too.
                connection.invalidate(error)
                connection.engine.dispose()
            raise


@lru_cache(maxsize=1024)
def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement with `%(name)s` parameters as PostgreSQL takes it, with `$1` for the first of the names."""
    names = tuple(dict.fromkeys(PARAMETER.findall(sql)))
    places = {name: f"${place}" for place, name in enumerate(names, 1)}
    return PARAMETER.sub(lambda found: places[found[1]], sql).replace("%%", "%").encode(), names


def prepare_connection(connection: "psycopg.Connection[Any]", _record: object) -> None:
    """Let a new connection take statements and arrays as PostgreSQL does; a listener to SQLAlchemy's `connect`."""
    connection.cursor_factory = psycopg.RawCursor
    connection.adapters.register_dumper(Packed, PackedDumper)


def _named(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """Rows as psycopg's own named tuples, which it refuses for an answer with two columns of one name."""
    return _maker(*(column.name for column in cursor.description or ()))


@lru_cache(maxsize=1024)
def _maker(*names: str) -> Callable[[Sequence[Any]], Row]:
    kind: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]  # noqa: PYI024  # its names are in the answer
    maker: Callable[[Sequence[Any]], Row] = kind._make
    return maker


@contextmanager
def translated() -> Iterator[None]:
    """Turn the database's errors into our failures: refusals by their code, lost connections into one kind."""
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


def _failure(error: BaseException | None) -> Exception | None:
    code = getattr(error, "sqlstate", None)
    diagnostics = getattr(error, "diag", None)
    message = str(getattr(diagnostics, "message_primary", "") or "")
    match code:
        case "PR001":
            return ClaimLost(message)
        case "42501":
            return Forbidden(message)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return DatabaseUnavailable(type(error).__name__)
    invalid = _invalid(code, message, diagnostics)
    if invalid is None and isinstance(error, psycopg.DataError):
        # Not in PostgreSQL's words: they repeat the value.
        return Invalid("value", f"is refused by PostgreSQL: {type(error).__name__}")
    return invalid


def _invalid(code: str | None, message: str, diagnostics: Any) -> Invalid | None:  # noqa: ANN401 - psycopg's diagnostics or None
    """What the database says of a value that it cannot take, by field and reason."""
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
    """The column whose value a check refused; empty where a row contradicts itself, which no input brings about.

    A domain has its column's name, and PostgreSQL calls the check of one column `<table>_<column>_check`.
    """
    if diagnostics.datatype_name:
        return str(diagnostics.datatype_name)
    found = re.fullmatch(rf"{re.escape(diagnostics.table_name or '')}_(.+)_check\d*", constraint)
    return found[1] if found else ""
