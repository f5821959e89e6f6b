"""How long ago a worker's ledger loop made progress; its other threads ask."""

import time


class TurnAge:
    """The loop notes its progress here, in the main thread; any thread may read the age."""

    def __init__(self) -> None:
        """There is no loop yet, so nothing is late."""
        self._at: float | None = None

    def progressed(self) -> None:
        """Note that the loop has made progress, or waits for what it must wait for."""
        self._at = time.monotonic()

    def forget(self) -> None:
        """Note that there is no loop any more."""
        self._at = None

    @property
    def seconds(self) -> float:
        """How long ago that was; 0 without a loop."""
        at = self._at
        return 0.0 if at is None else time.monotonic() - at
