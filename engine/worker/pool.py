"""The door to Celery's pool: claimed jobs go in as requests or in batches, reports and losses come out."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import Terminated, TimeLimitExceeded, WorkerLostError

from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement, lose
from domain.scheduling.pace import BATCH_S
from engine.worker.execution import MARKERS, OVERTIME, Report, perform
from engine.worker.request import JobRequest

log = structlog.get_logger(__name__)

DEATHS = (WorkerLostError, TimeLimitExceeded, Terminated, SystemExit)
"""What Celery's pool says of a child that is gone."""

AHEAD = 2
"""Batches for each slot: one that runs, and one that waits so that the slot need not."""


Entry = tuple[ClaimedJob, Any | None]
"""A job, and for an ordinary one the kombu message that spoke of it."""

Requests = Mapping[UUID, JobRequest]


@dataclass(frozen=True, eq=False)
class Unit:
    """Jobs that went into the pool together; `place` is where their child marks how far it is."""

    jobs: tuple[ClaimedJob, ...]
    place: int
    sent_at: datetime
    expected_s: float

    @property
    def timeout(self) -> timedelta:
        """How long a child may be at it."""
        return max(job.deadline for job in self.jobs) + OVERTIME

    def reached(self) -> int | None:
        """The index of the job that is running; None before the first and after the last."""
        index = MARKERS.read(self.place)
        return index if index < len(self.jobs) else None


def shareable(ready: Iterable[Entry]) -> Iterator[str]:
    """The types of the first jobs that may share a unit, in their order.

    A suspect goes alone: should it take its process down again, nobody else is in doubt.
    """
    for place, (job, _) in enumerate(ready):
        suspect = job.suspect or job.losses
        if place and suspect:
            return
        yield job.job_type
        if suspect:
            return


class PoolDoor:
    """One worker command's pool, as the ledger loop uses it."""

    def __init__(self, deliver: Callable[[Sequence[Report]], None], clock: Callable[[], datetime]) -> None:
        """`deliver` takes reports, from any thread."""
        self._deliver = deliver
        self._clock = clock
        self._consumer: Any = None
        self.under_way: set[Unit] = set()
        self._accepted: set[Unit] = set()
        self._left: deque[tuple[float, int]] = deque()
        """Places of units that were taken back, and when nobody can write to them any more."""
        self.moved_at = time.monotonic()

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Use this consumer's pool."""
        self._consumer = consumer

    @property
    def slots(self) -> int:
        """How many jobs the pool runs at a time."""
        slots: int = self._consumer.pool.num_processes
        return slots

    @property
    def has_room(self) -> bool:
        """Whether another unit would find a slot at once or next, or after jobs so short that it hardly waits."""
        if len(self.under_way) < self.slots * AHEAD:
            return True
        return sum(unit.expected_s for unit in tuple(self.under_way)) < self.slots * BATCH_S

    def send(self, entries: Sequence[Entry], expected_s: float) -> None:
        """Hand in jobs as one unit; each that is not light becomes a request that Celery's commands and events know."""
        jobs = tuple(job for job, _ in entries)
        while self._left and self._left[0][0] < time.monotonic():
            MARKERS.free(self._left.popleft()[1])
        unit = Unit(jobs, MARKERS.take(), self._clock(), expected_s)
        self.under_way.add(unit)
        requests = {job.job_id: self._request(job, message) for job, message in entries if message is not None}
        self.moved_at = time.monotonic()
        enter = partial(self._enter, unit, requests)
        if self._consumer.pool.uses_semaphore:
            self._consumer.controller.semaphore.acquire(enter)
        else:
            enter()

    def take_back_unsent(self) -> None:
        """Give back the units that no child has accepted, for the pool has dropped them and would drop their reports.

        Should a child be at one all the same, it finds its claims gone.
        """
        for unit in tuple(self.under_way):
            if unit not in self._accepted:
                self.under_way.discard(unit)
                # That child may still write to its place, for as long as it may live.
                self._left.append((time.monotonic() + unit.timeout.total_seconds(), unit.place))
                self._deliver(
                    [
                        Report(job.job_id, job.token, "returned", Settlement.unstarted(job, "unsent"))
                        for job in unit.jobs
                    ]
                )

    def begun(self) -> Sequence[tuple[ClaimedJob, datetime]]:
        """The jobs that are running now, with a time at which they had begun."""
        units = [(unit, unit.reached()) for unit in tuple(self.under_way)]
        return [(unit.jobs[index], unit.sent_at) for unit, index in units if index is not None]

    def _request(self, job: ClaimedJob, message: Any) -> JobRequest:  # noqa: ANN401 - a kombu message
        consumer = self._consumer
        celery = {"app": consumer.app, "eventer": consumer.event_dispatcher, "hostname": consumer.hostname}
        request = JobRequest(message, job, **celery)
        request.announce(consumer)
        return request

    def _enter(self, unit: Unit, requests: Requests) -> None:
        """Give the unit to the pool, without the jobs that were revoked while they waited for it."""
        revoked = [job_id for job_id, request in requests.items() if request.revoked()]
        jobs = tuple(job for job in unit.jobs if job.job_id not in revoked) if revoked else unit.jobs
        reports = [
            Report(job.job_id, job.token, "canceled", Settlement.revoked(job, unit.sent_at))
            for job in unit.jobs
            if job.job_id in revoked
        ]
        if not jobs:
            if self._consumer.pool.uses_semaphore:
                self._consumer.controller.semaphore.release()
            self._close(unit, reports)
            return
        if reports:
            self._deliver(reports)
        result = self._consumer.pool.apply_async(
            perform,
            args=(jobs, unit.place),
            accept_callback=partial(self._accept, unit, requests),
            callback=partial(self._returned, unit, requests),
            error_callback=partial(self._failed, unit, requests),
            timeout=unit.timeout.total_seconds(),
        )
        for request in requests.values():
            request.handed_in(result)

    def _accept(self, unit: Unit, requests: Requests, pid: int, accepted_at: float) -> None:
        self._accepted.add(unit)
        for request in requests.values():
            request.on_accepted(pid, accepted_at)

    def _returned(self, unit: Unit, requests: Requests, reports: Sequence[Report]) -> None:
        for report in reports:
            request = requests.get(report.job_id)
            if request is not None:
                request.tell(report)
        self._close(unit, reports)

    def _failed(self, unit: Unit, requests: Requests, problem: Any) -> None:  # noqa: ANN401 - billiard's ExceptionInfo
        for request in requests.values():
            request.on_failure(problem)
        self._lost(unit, getattr(problem.exception, "exc", problem.exception))

    def _lost(self, unit: Unit, error: BaseException) -> None:
        log.warning("jobs_lost", jobs=len(unit.jobs), error=type(error).__name__)
        reached, reports = MARKERS.read(unit.place), []
        for index, job in enumerate(unit.jobs):
            if reached == MARKERS.WAITING or index > reached:
                settlement = Settlement.unstarted(job, "lost")
            else:
                guilty = index == reached and isinstance(error, DEATHS)
                settlement = lose(job, guilty=guilty).begun(unit.sent_at)
            reports.append(Report(job.job_id, job.token, settlement.state.value, settlement))
        self._close(unit, reports)

    def _close(self, unit: Unit, reports: Sequence[Report]) -> None:
        if unit not in self.under_way:
            return  # a child may report in time and be found dead afterwards
        self.under_way.discard(unit)
        self._accepted.discard(unit)
        MARKERS.free(unit.place)
        self.moved_at = time.monotonic()
        self._deliver(reports)
