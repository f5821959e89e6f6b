"""The emulators' clock: real time, which tests may move forward so that quotas, tokens and watches expire."""

import time
from threading import Lock


class EmulatorClock:
    """Real time plus the seconds by which it was moved forward."""

    def __init__(self) -> None:
        """Starts at the real time."""
        self._offset = 0.0
        self._lock = Lock()

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self._offset

    def advance(self, seconds: float) -> float:
        """Move forward and return the new time."""
        with self._lock:
            self._offset += seconds
        return self.now()

    def reset(self) -> None:
        """Back to the real time."""
        self._offset = 0.0
