"""The load of a soak: a steady number of jobs per second, and probes that measure how late jobs begin."""

import threading
import time
from collections.abc import Callable

from bench.contenders.ours import Ours
from domain.jobs.job import NewJob
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime

TICK_S = 0.1
PROBES_PER_TICK = 2


class Load(threading.Thread):
    """Enqueues until it is stopped; one that falls behind makes up for it, up to `MOST_PER_TICK` at once."""

    MOST_PER_TICK = 2000

    def __init__(self, runtime: Runtime, ours: Ours, rate: float) -> None:
        """Enqueue `rate` jobs per second."""
        super().__init__(name="load", daemon=True)
        self.enqueued = self.probes = 0
        self._runtime = runtime
        self._ours = ours
        self._rate = rate
        self._stopped = threading.Event()

    def run(self) -> None:
        """Enqueue what is due, tick by tick."""
        began = time.monotonic()
        while not self._stopped.wait(TICK_S):
            due = min(int((time.monotonic() - began) * self._rate) - self.enqueued, self.MOST_PER_TICK)
            self._enqueue([NewJob("noop_jobs.noop", self._ours.org, {}) for _ in range(due)])
            self.enqueued += due
            for job_type in ("noop_jobs.note", "noop_jobs.alert") * PROBES_PER_TICK:
                self._enqueue([NewJob(job_type, self._ours.org, {"sent_ns": time.monotonic_ns()})])
                self.probes += 1

    def stop(self) -> None:
        """Enqueue no more, and wait until the last tick is over."""
        self._stopped.set()
        self.join(30)

    def _enqueue(self, jobs: list[NewJob]) -> None:
        with self._runtime.database.ledger() as tx:
            enqueue_jobs(tx, jobs)


def new_lines(read: Callable[[], list[float]]) -> Callable[[], tuple[float, ...]]:
    """What was added to a list that grows since the last call."""
    seen = 0

    def added() -> tuple[float, ...]:
        nonlocal seen
        lines = read()[seen:]
        seen += len(lines)
        return tuple(lines)

    return added
