"""Hands claimed jobs to Celery's pool in batches, and turns its answers and its losses into reports."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from billiard.einfo import ExceptionInfo
from billiard.exceptions import Terminated, TimeLimitExceeded, WorkerLostError

from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement, lose
from domain.jobs.scheduling.pace import BATCH_S
from engine.worker.capacity import Capacity
from engine.worker.execution import MARKERS, OVERTIME, Report, perform
from engine.worker.task_events import TaskEvents

log = structlog.get_logger(__name__)

DEATHS = (WorkerLostError, TimeLimitExceeded, Terminated, SystemExit)
"""What Celery's pool says of a child that is gone."""

BATCHES_PER_SLOT = 2
"""One running, one queued, so a slot is never idle."""


@dataclass(slots=True, eq=False)
class PoolBatch:
    """Jobs that went into the pool together; `place` is the byte in which the child marks how far it is."""

    jobs: tuple[ClaimedJob, ...]
    place: int
    sent_at: datetime
    expected_s: float
    accepted_at: float | None = None
    """When it left the queue for a slot, by the monotonic clock."""
    began_at: datetime | None = None
    """The same, by the clock on the wall."""
    pid: int | None = None
    """The process that runs it."""
    recorded: UUID | None = None
    """The last of its jobs whose start is in the ledger."""

    @property
    def timeout(self) -> timedelta:
        """How long a child may be at it."""
        return max(job.deadline for job in self.jobs) + OVERTIME

    def is_overdue(self, now: float) -> bool:
        """Whether its slot should be free by now: its jobs have lost their claims, and a thread cannot be ended."""
        return self.accepted_at is not None and now - self.accepted_at > self.timeout.total_seconds()

    def reached(self) -> int | None:
        """The index of the running job; None before the first and after the last."""
        index = MARKERS.read(self.place)
        return index if index < len(self.jobs) else None


def shareable(ready: Iterable[ClaimedJob]) -> Iterator[str]:
    """The types of the first jobs that may share a batch, in their order.

    A suspect goes alone, and so does a job that has ended a child before: no other job is in doubt then.
    """
    for place, job in enumerate(ready):
        suspect = job.suspect or job.losses
        if place and suspect:
            return
        yield job.job_type
        if suspect:
            return


class PoolDispatcher:
    """One worker command's pool, as the ledger loop uses it."""

    def __init__(
        self,
        deliver: Callable[[Sequence[Report]], None],
        events: TaskEvents,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deliver` takes reports, from any thread."""
        self._deliver = deliver
        self._events = events
        self._clock = clock
        self._monotonic = monotonic
        self._consumer: Any = None
        self.under_way: set[PoolBatch] = set()
        self._unannounced: deque[PoolBatch] = deque()
        """Batches that began while somebody listened to events, and are not announced yet."""
        self._left: deque[tuple[float, int]] = deque()
        """Places of batches that were taken back, and when nobody can write to them any more."""
        self.moved_at = self._monotonic()

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Use this consumer's pool."""
        self._consumer = consumer

    @property
    def slots(self) -> int:
        """How many jobs the pool runs at a time."""
        slots: int = self._consumer.pool.num_processes
        return slots

    @property
    def overdue(self) -> int:
        """Slots that are held by jobs long past their deadlines; from any thread."""
        now = self._monotonic()
        return sum(batch.is_overdue(now) for batch in tuple(self.under_way))

    @property
    def is_exclusive(self) -> bool:
        """Whether a suspect runs, with which nothing else may run: if the process dies, the suspect ended it."""
        return len(self.under_way) == 1 and any(batch.jobs and batch.jobs[0].suspect for batch in tuple(self.under_way))

    def has_room_for(self, job: ClaimedJob) -> bool:
        """Whether a batch that begins with this job may go in: a suspect into an empty pool, and nothing beside it."""
        return not self.under_way if job.suspect else self._has_room and not self.is_exclusive

    @property
    def _has_room(self) -> bool:
        """Whether another batch would find a slot at once or next, or after jobs so short that it hardly waits."""
        if len(self.under_way) < self.slots * BATCHES_PER_SLOT:
            return True
        return sum(batch.expected_s for batch in tuple(self.under_way)) < self.slots * BATCH_S

    def begins_soon(self, expected_s: float) -> bool:
        """Whether a batch of so many seconds finds a free slot, or a short wait for one.

        What waits inside the pool cannot be given back any more: a long job, of which a backlog did not say that it
        would come, waits outside.
        """
        under_way = tuple(self.under_way)
        held = Capacity(self.slots, len(under_way), sum(batch.expected_s for batch in under_way))
        return held.has_room(expected_s)

    def send(self, jobs: Sequence[ClaimedJob], expected_s: float) -> None:
        """Hand in jobs as one batch."""
        while self._left and self._left[0][0] < self._monotonic():
            MARKERS.free(self._left.popleft()[1])
        batch = PoolBatch(tuple(jobs), MARKERS.take(), self._clock(), expected_s)
        self.under_way.add(batch)
        self.moved_at = self._monotonic()
        enter = partial(self._enter, batch)
        if self._consumer.pool.uses_semaphore:
            self._consumer.controller.semaphore.acquire(enter)
        else:
            enter()

    def take_back_unsent(self) -> None:
        """Give back the batches that no child has accepted, for the pool has dropped them and would drop their reports.

        A child that runs one all the same finds its claims gone.
        """
        for batch in tuple(self.under_way):
            if batch.accepted_at is None:
                self.under_way.discard(batch)
                # That child may still write to its place, for as long as it may live.
                self._left.append((self._monotonic() + batch.timeout.total_seconds(), batch.place))
                unsent = [Settlement.unstarted(job, "unsent") for job in batch.jobs]
                self._deliver([Report(back.job_id, back.token, "returned", back) for back in unsent])

    def running(self) -> Sequence[tuple[ClaimedJob, PoolBatch]]:
        """The jobs that are running now, each with its batch."""
        batches = [(batch, batch.reached()) for batch in tuple(self.under_way)]
        return [(batch.jobs[index], batch) for batch, index in batches if index is not None]

    def announce_starts(self) -> None:
        """Announce the batches that have begun; in the main thread, and before the ends of their jobs."""
        while self._unannounced:
            batch = self._unannounced.popleft()
            self._events.started(batch.jobs, batch.began_at or batch.sent_at)

    def _enter(self, batch: PoolBatch) -> None:
        self._consumer.pool.apply_async(
            perform,
            args=(batch.jobs, batch.place),
            accept_callback=partial(self._accept, batch),
            callback=partial(self._returned, batch),
            error_callback=partial(self._failed, batch),
            timeout=batch.timeout.total_seconds(),
        )

    def _accept(self, batch: PoolBatch, pid: int, _accepted_at: float) -> None:
        batch.accepted_at, batch.began_at, batch.pid = self._monotonic(), self._clock(), pid
        if self._events.wanted:
            self._unannounced.append(batch)

    def _returned(self, batch: PoolBatch, answer: Any) -> None:  # noqa: ANN401 - reports, or billiard's ExceptionInfo
        if isinstance(answer, ExceptionInfo):
            # A pool of threads has no error callback: an exception that is none of `Exception` comes by this way.
            self._failed(batch, answer)
        else:
            self._close(batch, answer)

    def _failed(self, batch: PoolBatch, problem: Any) -> None:  # noqa: ANN401 - billiard's ExceptionInfo
        error = getattr(problem.exception, "exc", problem.exception)
        log.warning("jobs_lost", jobs=len(batch.jobs), error=type(error).__name__)
        reached, reports = MARKERS.read(batch.place), []
        for index, job in enumerate(batch.jobs):
            if reached == MARKERS.WAITING or index > reached:
                settlement = Settlement.unstarted(job, "lost")
            else:
                guilty = index == reached and isinstance(error, DEATHS)
                settlement = lose(job, guilty=guilty).begun(batch.sent_at)
            reports.append(Report(job.job_id, job.token, settlement.state.value, settlement))
        self._close(batch, reports)

    def _close(self, batch: PoolBatch, reports: Sequence[Report]) -> None:
        if batch not in self.under_way:
            return  # a child may report in time and be found dead afterwards
        self.under_way.discard(batch)
        MARKERS.free(batch.place)
        self.moved_at = self._monotonic()
        self._deliver(reports)
