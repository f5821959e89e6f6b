"""The database's time, told without asking: each time that is compared or shown is PostgreSQL's, not this machine's."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from storage.postgres.shared_double import SharedDouble

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's clock that runs on while the machine is suspended: by the other, a lease that ended meanwhile would last."""


def steady() -> float:
    """Seconds by the system's steady clock, which is one for all processes of a machine; nobody can set it."""
    return time.clock_gettime(CLOCK)


QUICK_S = 0.2
"""A measurement may be wrong by half of the time that the answer took; a slow one tells less than an old quick one."""


class DatabaseClock:
    """Tells PostgreSQL's time: the system's steady clock and an offset, measured whenever the lease is renewed.

    A worker's children share the offset. A step of the machine's clock changes nothing.
    """

    def __init__(self, ask: Callable[[], datetime], offset: SharedDouble | None = None) -> None:
        """`ask` asks PostgreSQL; it is called at the first look, when nobody has measured the offset before."""
        self._ask = ask
        self._offset = offset or SharedDouble()
        """Seconds between the steady clock and PostgreSQL's; 0 before the first measurement."""

    def __call__(self) -> datetime:
        """The present, with its zone; raises `DatabaseUnavailable` when it was never known and cannot be asked for."""
        if not self._offset.value:
            began = steady()
            self.learn(self._ask(), began)
        return datetime.fromtimestamp(steady() + self._offset.value, UTC)

    def learn(self, at: datetime, began: float) -> None:
        """Note an answer of PostgreSQL's, just received, to a question put at `began` by the steady clock."""
        ended = steady()
        if ended - began <= QUICK_S or not self._offset.value:
            self._offset.value = at.timestamp() - (began + ended) / 2


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
