"""A worker whose start fails ends with what went wrong."""

from engine.runtime import Runtime
from engine.worker.loop import LedgerLoop


def test_a_loop_that_was_never_attached_stops(process: Runtime) -> None:
    """A start that failed ends by stopping all there is; an error of that would hide the first one."""
    never_started = LedgerLoop(process)
    never_started.stop()
    assert never_started.idle
