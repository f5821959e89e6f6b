"""A statement is tried again while PostgreSQL is away, for as long as it takes; one that it aborts, a few times."""

from collections.abc import Iterator

import pytest

from engine.database_away import MOST_ABORTED, retry_while_away
from engine.runtime import Runtime
from settings import Settings
from storage.postgres.execution import DatabaseUnavailable, StatementAborted

SOON_S = 0.001


@pytest.fixture
def process() -> Runtime:
    return Runtime(Settings())


def test_an_absence_is_outlasted(process: Runtime) -> None:
    failures: Iterator[Exception] = iter([DatabaseUnavailable("away")] * 10 * MOST_ABORTED)

    def call() -> str:
        for failure in failures:
            raise failure
        return "answered"

    assert retry_while_away(process, call, SOON_S) == "answered"


def test_a_statement_that_postgresql_aborts_is_given_up(process: Runtime) -> None:
    tries = []

    def call() -> None:
        tries.append(1)
        raise StatementAborted("QueryCanceled")

    with pytest.raises(StatementAborted):
        retry_while_away(process, call, SOON_S)
    assert len(tries) == MOST_ABORTED
