"""That the broker has just left a question unanswered: for a moment nobody asks it again.

A broker that is frozen takes connections and answers nothing, so each question costs its whole time limit. Celery,
kombu and redis-py ask many in a row on the same thread: up to ten timers in one round of the event loop, and each
bootstep as it stops. With a limit of 5 s for each the ledger loop would stand still for longer than a worker may.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger(__name__)

AGAIN_S = 5.0
"""How long nobody asks: as long as one question takes, so a loop that asks has at least half of its time for others."""

LONG_WAIT = 0.2
"""A failure that took this part of the time for an answer was a wait for one. One that comes at once, such as a refused
connection, costs nothing to repeat."""


class BrokerSilence:
    """Shared by all who use one connection to a broker; from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """There is none yet."""
        self._clock = clock
        self._until = 0.0

    def begin(self) -> None:
        """Note that a question was not answered in time."""
        if not self.lasts:
            log.warning("broker_did_not_answer", again_in_s=AGAIN_S)
        self._until = self._clock() + AGAIN_S

    @contextmanager
    def noting(self, answer_within_s: float) -> Iterator[None]:
        """Begin when the block fails after a wait; an answer is given up after `answer_within_s`."""
        asked_at, answered = self._clock(), False
        try:
            yield
            answered = True
        finally:
            if not answered and self._clock() - asked_at > LONG_WAIT * answer_within_s:
                self.begin()

    @property
    def lasts(self) -> bool:
        """Whether nobody should ask now."""
        return self._clock() < self._until
