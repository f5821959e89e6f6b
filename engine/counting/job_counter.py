"""Counts what happens to jobs, for the whole fleet: a thread that reads the audit log on from where the last one was.

Of all workers with a metrics port one counts at a time. A transaction may still write an entry with a smaller number
than one that is committed, so the log is counted up to a place only when all transactions have ended that could write
before it (docs/explanation/counting.md).
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from domain.jobs.failures import Failure
from domain.jobs.monitoring.counting import MetricSeries, totals_of
from domain.jobs.monitoring.metrics import FAILED, SECONDS
from domain.jobs.queues import Queue
from domain.jobs.scheduling.ticks import Ticks
from engine.counting import beat_ticks
from engine.runtime import Runtime
from storage.jobs.audit_log import counting, failure_groups, history
from storage.jobs.audit_log.counting import LogPosition, QueueMeasure
from storage.postgres.execution import DatabaseError

log = structlog.get_logger(__name__)

STEP = 200_000
"""Entries' numbers per statement, of which every other is given out: some 0.3 s of PostgreSQL's time."""

SILENT_INTERVALS = 4
"""After so many intervals without a turn of the holder, another process counts."""


@dataclass(frozen=True, slots=True)
class FleetCounts:
    """What the process that counts knows of the whole fleet."""

    totals: Mapping[MetricSeries, float]
    queues: tuple[QueueMeasure, ...]
    ledger: Mapping[tuple[str, str], int]
    ticks: Ticks
    measured_at: datetime
    counted_at: float
    """When, by the monotonic clock, the place was read up to which everything is counted."""


class JobCounter(threading.Thread):
    """Counts while it holds the right to; `counts` is None in every other process."""

    def __init__(self, runtime: Runtime, interval_s: float) -> None:
        """Prepare; `start()` begins."""
        super().__init__(name="counter", daemon=True)
        self._runtime = runtime
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._holder: UUID = runtime.worker.worker_id
        self._mark: LogPosition | None = None
        self._marked_at = self._counted_at = time.monotonic()
        self.counts: FleetCounts | None = None

    def run(self) -> None:
        """Take a turn in each interval; then let another process count."""
        while not self._stopped.wait(self._interval_s):
            self.try_turn()
        self._release()

    def stop(self) -> None:
        """Count no more."""
        self._stopped.set()

    def try_turn(self) -> None:
        """Take a turn; where the database refuses, nothing is shown until the next one."""
        try:
            self.turn()
        except (Failure, DatabaseError) as error:
            self.counts = None
            log.warning("jobs_not_counted", error=type(error).__name__)

    def turn(self) -> None:
        """Count what is certain, and measure what waits; shows nothing when another process counts."""
        with self._runtime.database.ledger() as tx:
            counted_to = counting.hold(tx, self._holder, self._silent_for)
        if counted_to is None:
            self._mark = self.counts = None
            return
        upto = self._certain()
        while counted_to is not None and counted_to < upto.entry and not self._stopped.is_set():
            counted_to = self._count(upto)
        if counted_to is None:
            self.counts = None
            return
        self._measure()

    @property
    def _silent_for(self) -> timedelta:
        return timedelta(seconds=self._interval_s * SILENT_INTERVALS)

    def _certain(self) -> LogPosition:
        """The newest place before which nobody can write any more; 0 without one."""
        now = time.monotonic()
        with self._runtime.database.statements() as tx:
            mark = counting.mark(tx)
        certain = replace(mark, entry=0)
        if self._mark is not None and not self._mark.writers & mark.writers:
            certain, self._counted_at, self._mark = self._mark, self._marked_at, None
        if not mark.writers:
            certain, self._counted_at, self._mark = mark, now, None
        elif self._mark is None:
            self._mark, self._marked_at = mark, now
        return certain

    def _count(self, certain: LogPosition) -> int | None:
        """Count one step; returns how far the log is counted, or None when another process counts now."""
        with self._runtime.database.ledger() as tx:
            after = counting.hold(tx, self._holder, self._silent_for)
            if after is None or after >= certain.entry:
                return after
            upto = min(after + STEP, certain.entry)
            groups = counting.count_events(tx, after=after, upto=upto, bounds=SECONDS)
            added = totals_of(groups.of_fleet, counting.totals(tx))
            counting.add(tx, added, upto=upto, counted_at=certain.at if upto == certain.entry else None)
            history.add(tx, groups)
            if any(series.metric == FAILED.name for series in added):
                failure_groups.add(tx, after=after, upto=upto)
        return upto

    def _measure(self) -> None:
        with self._runtime.database.statements() as tx:
            totals = counting.totals(tx)
            queues = tuple(counting.measure_queues(tx, [queue.value for queue in Queue]))
            history.add_samples(tx, queues)
            states = counting.measure_ledger(tx)
            ticks = beat_ticks.look(tx)
        # The clock may ask PostgreSQL by a connection of its own.
        self.counts = FleetCounts(totals, queues, states, ticks, self._runtime.clock(), self._counted_at)

    def _release(self) -> None:
        self.counts = None
        try:
            with self._runtime.database.statements() as tx:
                counting.release(tx, self._holder)
        except Failure as failure:
            log.info("counting_not_released", reason=failure.reason)
