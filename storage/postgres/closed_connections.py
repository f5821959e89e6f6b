"""Finds out, before a statement is sent, that PostgreSQL has closed a connection which rested in a pool."""

import select
from typing import Any

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

ANYTHING = select.POLLIN | select.POLLHUP | select.POLLERR
"""A server has nothing to say to a client that rests but farewell; at worst a good connection is given up."""


def replace_closed(engine: Engine) -> None:
    """Let the engine's pool open another connection where PostgreSQL has ended one, as a restart ends all of them.

    The system is asked, not PostgreSQL: it takes no round trip. Nothing has been sent on such a connection, so that its
    borrower's first statement can neither be lost nor done twice.
    """
    event.listen(engine, "checkout", _refuse_closed)


def _refuse_closed(connection: "psycopg.Connection[Any]", _record: object, _lent: object) -> None:
    poller = select.poll()
    poller.register(connection.fileno(), ANYTHING)
    if poller.poll(0):
        raise InvalidatePoolError("PostgreSQL has closed it")
