"""The time that calls may take in all: the engine sets it, every client keeps it. An answer may trickle for ever."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

Clock = Callable[[], float]


class _Together(threading.local):
    """Until when the calls of a thread have to end that belong together, and by which clock."""

    until: float = inf
    monotonic: Clock = staticmethod(time.monotonic)

    def left(self) -> float:
        return self.until - self.monotonic()


_together = _Together()


@contextmanager
def calls_within(seconds: float, monotonic: Clock = time.monotonic) -> Iterator[None]:
    """Let all calls that this thread makes meanwhile end within so many seconds, each by its own limit at most.

    For what asks first and then acts: a process that was frozen in between acts no more.
    """
    before = _together.until, _together.monotonic
    _together.until, _together.monotonic = monotonic() + min(seconds, _together.left()), monotonic
    try:
        yield
    finally:
        _together.until, _together.monotonic = before


class TimeLimit(threading.local):
    """How much time the call that this thread makes has left; each thread has its own."""

    def __init__(self) -> None:
        """No call, no limit."""
        self._until = inf

    def begin(self, seconds: float) -> None:
        """Begin a call; the limit holds until the next one begins."""
        self._until = time.monotonic() + min(seconds, _together.left())

    def left(self, most: float | None = None) -> float:
        """The seconds left, at most so many; raises `TimeoutError` when none is."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the call took too long in all")
        return left_s if most is None else min(left_s, most)
