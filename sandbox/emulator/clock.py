"""The emulators' own time: real, but tests may move it forward, so that quotas, tokens and watches run out at once."""

import time
from threading import Lock


class EmulatorClock:
    """Seconds since the epoch, plus what was ordered."""

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
