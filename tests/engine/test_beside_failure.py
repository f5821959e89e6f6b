"""What is written beside a failure does not take its place, whatever becomes of the writing."""

from collections.abc import Callable

import pytest
from psycopg.errors import UndefinedColumn
from structlog.testing import capture_logs

from domain.jobs.failures import Transient
from engine.beside_failure import beside_failure
from engine.runtime import Runtime


def cannot_be_reached(_process: Runtime) -> None:
    raise Transient("the database is away")


def is_refused(process: Runtime) -> None:
    """An error of ours in the statement, which is translated into no failure."""
    with process.database.ledger() as tx:
        tx.raw("select no_such_column")


@pytest.mark.parametrize(
    ("write", "error"), [(cannot_be_reached, Transient), (is_refused, UndefinedColumn)], ids=["away", "refused"]
)
def test_a_write_that_fails_beside_a_failure_is_logged(
    process: Runtime, write: Callable[[Runtime], None], error: type[Exception]
) -> None:
    with capture_logs() as logged, beside_failure("its gate"):
        write(process)
    assert logged == [
        {
            "event": "not_written_beside_failure",
            "what": "its gate",
            "error": error.__name__,
            "log_level": "warning",
        }
    ]
