"""Waiting in tests for what other processes do; the only way to wait that the house allows."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from psycopg import Connection

from sandbox.servers.waiting import wait_until

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
