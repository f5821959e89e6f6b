"""What is still written when an attempt has failed: whatever becomes of the writing, the attempt's failure goes on.

The attempt's failure says how long to wait and for whom, or that a person decides; the failure of a write says only
that it can be tried again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from domain.jobs.failures import Failure
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)


@contextmanager
def beside_failure(what: str) -> Iterator[None]:
    """Within an `except` that raises again: a second failure is logged, and does not take the place of the first."""
    try:
        yield
    except (Failure, DatabaseError) as second:
        log.warning("not_written_beside_failure", what=what, error=type(second).__name__)
