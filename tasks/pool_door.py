"""The door to Celery's pool: claimed jobs go in as requests or in batches, reports and losses come out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from billiard.exceptions import Terminated, TimeLimitExceeded, WorkerLostError
from celery.exceptions import TaskRevokedError

from domain.job import ClaimedJob
from domain.lifecycle import Settlement, lose
from tasks.attempts import MARKERS, OVERTIME, Report, perform
from tasks.request import JobRequest

log = structlog.get_logger(__name__)

DEATHS = (WorkerLostError, TimeLimitExceeded, Terminated, SystemExit)
"""What Celery's pool says of a child that is gone."""

AHEAD = 2
"""Batches for each slot: one that runs, and one that waits so that the slot need not."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Jobs that went into the pool together; `place` is where their child marks how far it is."""

    jobs: tuple[ClaimedJob, ...]
    place: int
    sent_at: datetime

    def reached(self) -> int | None:
        """The index of the job that is running; None before the first and after the last."""
        index = MARKERS.read(self.place)
        return index if index < len(self.jobs) else None


class PoolDoor:
    """One worker command's pool, as the ledger loop uses it."""

    def __init__(self, deliver: Callable[[Sequence[Report]], None], clock: Callable[[], datetime]) -> None:
        """`deliver` takes reports, from any thread."""
        self._deliver = deliver
        self._clock = clock
        self._consumer: Any = None
        self.under_way: set[Unit] = set()
        self.moved_at = time.monotonic()

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Use this consumer's pool."""
        self._consumer = consumer

    @property
    def slots(self) -> int:
        """How many jobs the pool runs at a time."""
        slots: int = self._consumer.pool.num_processes
        return slots

    def has_room(self) -> bool:
        """Whether another unit would find a slot at once or next."""
        return len(self.under_way) < self.slots * AHEAD

    def send_batch(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand in light jobs as one unit."""
        unit = self._open(jobs)
        self._enter(partial(self._apply, unit))

    def send_request(self, job: ClaimedJob, message: Any) -> None:  # noqa: ANN401 - a kombu message
        """Hand in one ordinary job, as a request that Celery's commands, events and signals know."""
        unit = self._open([job])
        request = JobRequest(
            message,
            unit.jobs[0],
            place=unit.place,
            returned=partial(self._returned, unit),
            lost=partial(self._lost, unit),
            app=self._consumer.app,
            eventer=self._consumer.event_dispatcher,
            hostname=self._consumer.hostname,
        )
        request.announce(self._consumer)
        self._enter(partial(self._execute, unit, request))

    def begun(self) -> Sequence[tuple[ClaimedJob, datetime]]:
        """The jobs that are running now, with a time at which they had begun."""
        units = [(unit, unit.reached()) for unit in tuple(self.under_way)]
        return [(unit.jobs[index], unit.sent_at) for unit, index in units if index is not None]

    def _open(self, jobs: Sequence[ClaimedJob]) -> Unit:
        unit = Unit(tuple(jobs), MARKERS.take(), self._clock())
        self.under_way.add(unit)
        return unit

    def _enter(self, start: Callable[[], None]) -> None:
        self.moved_at = time.monotonic()
        if self._consumer.pool.uses_semaphore:
            self._consumer.controller.semaphore.acquire(start)
        else:
            start()

    def _apply(self, unit: Unit) -> None:
        self._consumer.pool.apply_async(
            perform,
            args=(unit.jobs, unit.place),
            callback=partial(self._returned, unit),
            error_callback=partial(self._failed, unit),
            timeout=(max(job.deadline for job in unit.jobs) + OVERTIME).total_seconds(),
        )

    def _execute(self, unit: Unit, request: JobRequest) -> None:
        try:
            request.execute_using_pool(self._consumer.pool)
        except TaskRevokedError:
            if self._consumer.pool.uses_semaphore:
                self._consumer.controller.semaphore.release()
            job = unit.jobs[0]
            self._close(unit, [Report(job.job_id, "canceled", Settlement.revoked(job, started_at=unit.sent_at))])

    def _returned(self, unit: Unit, reports: Sequence[Report], **_: object) -> None:
        self._close(unit, reports)

    def _failed(self, unit: Unit, problem: Any) -> None:  # noqa: ANN401 - billiard's ExceptionInfo
        error = getattr(problem.exception, "exc", problem.exception)
        self._lost(unit, error)

    def _lost(self, unit: Unit, error: BaseException) -> None:
        log.warning("jobs_lost", jobs=len(unit.jobs), error=type(error).__name__)
        reached, reports = MARKERS.read(unit.place), []
        for index, job in enumerate(unit.jobs):
            if reached == MARKERS.WAITING or index > reached:
                settlement = Settlement.unstarted(job, "lost")
            else:
                guilty = index == reached and isinstance(error, DEATHS)
                settlement = lose(job, guilty=guilty).begun(unit.sent_at)
            reports.append(Report(job.job_id, settlement.state.value, settlement))
        self._close(unit, reports)

    def _close(self, unit: Unit, reports: Sequence[Report]) -> None:
        if unit not in self.under_way:
            return  # a child may report in time and be found dead afterwards
        self.under_way.discard(unit)
        MARKERS.free(unit.place)
        self.moved_at = time.monotonic()
        self._deliver(reports)
