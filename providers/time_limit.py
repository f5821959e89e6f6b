"""The time that one call may take in all; a socket's timeout bounds one wait, and an answer may trickle for ever."""

import threading
import time
from math import inf


class TimeLimit(threading.local):
    """How much time the call that this thread makes has left; each thread has its own."""

    def __init__(self) -> None:
        """No call, no limit."""
        self._until = inf

    def begin(self, seconds: float) -> None:
        """Begin a call; the limit holds until the next one begins."""
        self._until = time.monotonic() + seconds

    def left(self, most: float | None = None) -> float:
        """The seconds left, at most so many; raises `TimeoutError` when none is."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the call took too long in all")
        return left_s if most is None else min(left_s, most)
