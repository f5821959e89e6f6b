"""Makes SQLAlchemy's engines: pools of bounded connections, on each of which a statement commits by itself."""

import json
import select
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError

from settings import Settings
from storage.postgres.bounded import ANSWER_MARGIN_S, BoundedConnection, connect_bounded
from storage.postgres.execution import fetch, prepare_connection, translated
from storage.postgres.sessions import connect_tenant, startup_options

IS_READING = "postroom_is_reading"
"""The option of a connection whose next transaction only reads."""
ANYTHING = select.POLLIN | select.POLLHUP | select.POLLERR
"""A server has nothing to say to a client that rests but farewell; at worst a good connection is given up."""


def _document(text: bytes) -> Any:  # noqa: ANN401 - whatever JSON says
    """Read a JSON column; what is too deep for the quick parser, 200 levels, Python's own still reads.

    Texts are not kept for the next document: they may be mail.
    """
    try:
        return from_json(text, cache_strings="keys")
    except ValueError:
        return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> float:
    """A whole number; one with more digits than Python reads, 4,300, is infinite, as 1e5000 is."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def timeouts_ms(statement_s: float, lock_timeout_s: float) -> Mapping[str, int]:
    """The time limits of a session.

    A transaction in which nothing happens for as long as a statement may take belongs to a client that is gone, and
    holds its locks.
    """
    return {
        "statement_timeout": int(statement_s * 1000),
        "idle_in_transaction_session_timeout": int(statement_s * 1000),
        "lock_timeout": int(lock_timeout_s * 1000),
    }


def autocommitting_engine(
    url: URL, settings: Settings, connections: int, *, lock_timeout_s: float, most_s: float = inf
) -> Engine:
    """An engine on whose connections each statement commits by itself, unless a transaction was begun.

    To change a connection's mode when it is lent, and to change it back, takes 60 us: as long as a short statement.
    """
    engine = make_engine(url, settings, connections, most_s=most_s, lock_timeout_s=lock_timeout_s)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """Begin what psycopg ends when it is told to, and does not begin by itself in this mode."""
    is_reading = connection.get_execution_options().get(IS_READING, False)
    fetch(connection, "begin read only" if is_reading else "begin", {})


def make_engine(
    url: URL,
    settings: Settings,
    connections: int,
    *,
    most_s: float = inf,
    lock_timeout_s: float = 0,
    is_for_handlers: bool = False,
) -> Engine:
    """An engine of so many connections, whose statements and waits for locks have these bounds in seconds."""
    statement_s = min(settings.statement_timeout_s, most_s)
    open_session = connect_tenant if is_for_handlers else connect_bounded
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=settings.statement_timeout_s,
        pool_use_lifo=True,
        isolation_level="AUTOCOMMIT",
        json_deserializer=_document,
        use_native_hstore=False,  # no column is one, and the first connection of each engine would look for the type
        hide_parameters=True,  # an error's text reaches logs, and a parameter may be mail or a secret
        connect_args={
            "options": startup_options(timeouts_ms(statement_s, lock_timeout_s)),
            "application_name": f"postroom:{url.username}",
        },
    )

    def connect(_dialect: object, _record: object, words: Sequence[Any], given: Mapping[str, Any]) -> BoundedConnection:
        return open_session(*words, answer_within_s=statement_s + ANSWER_MARGIN_S, **given)

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "connect", prepare_connection)
    event.listen(engine, "checkout", _replace_closed)
    event.listen(engine, "checkout", _refuse_suspect)
    return engine


def open_connection(engine: Engine) -> Connection:
    """Borrow a connection; raises `ConnectionLost` where PostgreSQL closes those that are opened anew, too."""
    with translated():
        return engine.connect()


def _refuse_suspect(connection: BoundedConnection, _record: object, _lent: object) -> None:
    """Let the pool connect anew where the connection has probably been lost without a word."""
    if connection.suspect:
        raise DisconnectionError("another connection was lost since")


def _replace_closed(connection: BoundedConnection, _record: object, _lent: object) -> None:
    """Let the pool open another connection where PostgreSQL has ended one, as a restart ends all of them.

    The system is asked, not PostgreSQL: it takes no round trip. Nothing has been sent on such a connection, so that its
    borrower's first statement can neither be lost nor done twice.
    """
    poller = select.poll()
    poller.register(connection.fileno(), ANYTHING)
    if poller.poll(0):
        raise InvalidatePoolError("PostgreSQL has closed it")
