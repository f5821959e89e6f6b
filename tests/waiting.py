"""Waiting in tests for what other processes do; the only way to wait that the house allows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import pytest
from psycopg import Connection

from sandbox.servers.waiting import wait_until
from storage.postgres.database import Transaction

Answer = TypeVar("Answer")


def eventually(predicate: Callable[[], Answer], *, within: float = 10.0, describe: str) -> Answer:
    """Return the predicate's first truthy answer; fail the test with `describe` after `within` seconds."""
    try:
        return wait_until(predicate, within=within, describe=describe)
    except TimeoutError as late:
        pytest.fail(str(late))


def until_a_lock_is_waited_for(database: Connection, *, describe: str) -> None:
    """Return once a transaction of this database waits for a lock of another."""
    waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    eventually(lambda: database.execute(waits).fetchone() == (1,), describe=describe)


@contextmanager
def patient(opened: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
    """A transaction that waits for a lock as long as the test holds it; by itself the fleet waits for half a second."""
    with opened as tx:
        tx.raw("set lock_timeout = 0")
        yield tx
        tx.raw("reset lock_timeout")
