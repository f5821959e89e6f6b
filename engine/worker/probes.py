"""What a worker command shows: its health, its own metrics, and the fleet's while it is the one that counts."""

import time
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread
from typing import Any

from domain.jobs.monitoring.metrics import HELD, LEASE_LEFT, REFUSED, SLOTS, TURN_AGE, WAITING, Metric
from engine.counting.fleet_samples import source_of
from engine.counting.job_counter import JobCounter
from engine.runtime import Lease, Runtime
from observability import traces
from observability.health import Finding, Health
from observability.probes import show
from observability.samples import Sample, Samples

LONGEST_TURN_S = 60.0
"""It comes round each second, but for its statements, which end after 10 s (`PINNED_TIMEOUT_S`); a turn has a few."""
LONGEST_OUTAGE_S = 300.0
"""A worker outlives an outage of its servers, and to start it anew ends none; but what is wrong may be its own
connections."""
RELEASE_WAIT_S = 2.0
"""How long a stopping worker waits for its counter to let the next one count at once."""

OF_THE_LOOP: tuple[tuple[Metric, str], ...] = (
    (SLOTS, "slots"),
    (HELD, "held"),
    (WAITING, "waiting"),
    (REFUSED, "settlements_refused"),
)
"""Metrics that are the ledger loop's numbers (`LedgerLoop.health`)."""


@dataclass(frozen=True, slots=True)
class WorkerAges:
    """For how many seconds the event loop has not come round, and the ledger and the broker have not answered."""

    turn_s: float
    ledger_s: float
    broker_s: float


def turn_finding(ages: WorkerAges) -> Finding:
    """Whether the event loop comes round."""
    return Finding(ages.turn_s < LONGEST_TURN_S, f"came round {ages.turn_s:.0f} s ago")


def ledger_finding(ages: WorkerAges) -> Finding:
    """Whether the ledger answers."""
    return Finding(ages.ledger_s < LONGEST_OUTAGE_S, f"answered {ages.ledger_s:.0f} s ago")


def broker_finding(ages: WorkerAges) -> Finding:
    """Whether the broker is there."""
    return Finding(ages.broker_s < LONGEST_OUTAGE_S, f"away for {ages.broker_s:.0f} s" if ages.broker_s else "there")


def lease_finding(lease: Lease) -> Finding:
    """Whether the worker's claims still hold."""
    left = lease.margin()
    return Finding(left > timedelta(0), f"{left.total_seconds():.0f} s left")


def counter_finding(counter: Thread) -> Finding:
    """Whether the thread is there that counts for the fleet when its turn comes; nothing begins another one."""
    alive = counter.is_alive()
    return Finding(alive, "there" if alive else "has ended")


class WorkerProbes:
    """One worker command's. `health` takes further checks."""

    def __init__(self, process: Runtime, worker: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Begin to show."""
        self._process = process
        self._worker = worker
        self._began_at = time.monotonic()
        self._counter: JobCounter | None = None
        self.health = Health()
        self.health.add("event loop", lambda: turn_finding(self.ages()))
        self.health.add("ledger", lambda: ledger_finding(self.ages()))
        self.health.add("broker", lambda: broker_finding(self.ages()))
        self.health.add("lease", lambda: lease_finding(process.lease))
        self._served = show(process.settings, self.health)
        if self._served is not None:
            self._counter = counter = JobCounter(process, process.settings.counting_interval_s)
            self._served.add_source(self._samples)
            self._served.add_source(source_of(counter))
            counter.start()
            self.health.add("counter", lambda: counter_finding(counter))

    def ages(self) -> WorkerAges:
        """What is known now; a consumer that is not there yet counts from the worker's start."""
        now, consumer = time.monotonic(), self._worker.consumer
        loop = getattr(consumer, "ledger_loop", None)
        if loop is None:
            return WorkerAges(now - self._began_at, 0.0, 0.0)
        lost_at = consumer.broker_lost_at
        return WorkerAges(now - loop.checked_at, now - loop.reached_at, now - lost_at if lost_at else 0.0)

    def stop(self) -> None:
        """Show nothing more, and let another worker count."""
        if self._counter is not None:
            self._counter.stop()
            self._counter.join(RELEASE_WAIT_S)
        if self._served is not None:
            self._served.end()
        traces.flush()

    def _samples(self) -> Samples:
        ages = self.ages()
        shown: dict[Metric, list[Sample]] = {
            TURN_AGE: [Sample((), ages.turn_s)],
            LEASE_LEFT: [Sample((), self._process.lease.margin().total_seconds())],
        }
        loop = getattr(self._worker.consumer, "ledger_loop", None)
        if loop is not None:
            numbers = loop.health()
            shown |= {metric: [Sample((), numbers[name])] for metric, name in OF_THE_LOOP}
        return shown
