"""A worker command of one slot inside a test's own process: the ledger loop, one of Celery's pools, Celery's tracer.

It takes one hint, or one message with demand, at a time. Nothing in it is a stand-in but Celery's consumer and the
event loop, which runs what is due without waiting for its time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any
from uuid import UUID

from celery import signals
from celery.concurrency.base import apply_target
from celery.concurrency.solo import TaskPool
from kombu.message import Message

from domain.jobs.job import ClaimedJob, Hint
from domain.jobs.queues import Queue
from domain.jobs.scheduling.backlog_demand import Demand
from engine.broker.births import Births
from engine.broker.hints import Message as Headers
from engine.broker.hints import demand_message, hint_message
from engine.catalogue import Job
from engine.runtime import Runtime
from engine.worker.execution import MARKERS, Report, perform
from engine.worker.loop import LedgerLoop
from storage.jobs import ledger
from tasks import celery as app

MOST_TURNS = 50


class Station(StrEnum):
    """What a job goes through on its way from its hint to its settlement."""

    LOOP = "loop"
    POOL = "pool"
    TRACER = "tracer"


Passed = Callable[[Station], object]
"""Told of each station that the job comes to."""


class InlinePool(TaskPool):  # type: ignore[misc] # Celery ships no types
    """Celery's pool without threads and children: a batch runs where it is handed in."""

    def __init__(self, deadly: tuple[type[BaseException], ...], passed: Passed, slots: int) -> None:
        """An exception that is `deadly` ends the process: it passes through, where a pool would report a lost child."""
        super().__init__()
        self.limit = slots
        self.reports: list[Report] = []
        self._passed = passed
        self._apply = partial(apply_target, propagate=deadly)
        self.on_apply = self._noting

    def _noting(self, target: Any, args: Any, kwargs: Any, *, callback: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's
        def note(reports: Sequence[Report]) -> None:
            self.reports += reports
            callback(reports)

        self._passed(Station.POOL)
        self._apply(target, args, kwargs, callback=note, **options)


class EventLoop:
    """As much of kombu's as the ledger loop uses; a timer is due at once, in the order of the times."""

    def __init__(self, passed: Passed) -> None:
        """Nothing is due."""
        self._passed = passed
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def call_later(self, delay: float, callback: Callable[[], None]) -> object:
        """Call it once."""
        heappush(self._timers, (delay, next(self._numbers), callback))
        return callback

    def call_repeatedly(self, *_given: object) -> None:
        """Never: no job waits here for long."""

    def run(self) -> None:
        """Call what is due, and what becomes due meanwhile, until nothing is."""
        for _ in range(MOST_TURNS):
            if not self._timers:
                return
            self._passed(Station.LOOP)
            heappop(self._timers)[2]()
        raise AssertionError("the ledger loop does not come to rest")


class Channel:
    """Where the hint came from; it counts what becomes of it."""

    no_ack_consumers = None

    def __init__(self) -> None:
        """Nothing is answered."""
        self.acknowledged, self.rejected = 0, 0

    def basic_ack(self, *_given: object, **_options: object) -> None:
        """The hint was dealt with."""
        self.acknowledged += 1

    def basic_reject(self, *_given: object, **_options: object) -> None:
        """The hint could not be read."""
        self.rejected += 1


class InlineWorker:
    """Celery's consumer, as far as the ledger loop and its pool know it."""

    connection_errors = (ConnectionError,)
    hostname = "inline@test"
    event_dispatcher = None
    controller = None

    def __init__(
        self,
        process: Runtime,
        deadly: tuple[type[BaseException], ...] = (),
        passed: Passed = lambda _: None,
        *,
        serves: Sequence[str] = (),
        slots: int = 1,
    ) -> None:
        """`process` must be installed as this process's runtime. What its jobs enqueue in queues that it `serves` may
        be born claimed; then it needs slots beside that of the job that runs.
        """
        self._passed, self._serves = passed, serves
        app.set_current()  # as a worker command does; another app of the test process may have been current
        self.app, self.hub, self.pool, self.channel = (
            app,
            EventLoop(passed),
            InlinePool(deadly, passed, slots),
            Channel(),
        )
        self.ledger_loop = LedgerLoop(process)
        self.ledger_loop.attach(self)

    def ask_for(self, _messages: int) -> None:
        """There is one message."""

    def served_queues(self) -> Sequence[str]:
        """What it was made to serve; the jobs of all other queues come by hints."""
        return self._serves

    def run(self, hint: Hint) -> str:
        """Take the job that a hint names through the loop, the pool and the tracer; returns what became of it.

        That is the pool's report, `not_claimed` without one, and `claim_lost` when its settlement was refused.
        """
        self._take(hint.queue, hint_message([hint]), hint.job_id)
        if not self.pool.reports:
            return "not_claimed"
        refused = self.ledger_loop.health()["settlements_refused"]
        return "claim_lost" if refused else self.pool.reports[-1].status

    def run_demand(self, queue: str, demand: Demand, of_job: UUID) -> bool:
        """Claim what one message with demand asks for, and run it; returns whether the given job was among it.

        The tracer's stations are those of that job.
        """
        self._take(queue, demand_message(demand), of_job)
        return any(report.job_id == of_job for report in self.pool.reports)

    def _take(self, queue: str, headers: Headers, of_job: UUID) -> None:
        self.ledger_loop.received(
            Message(
                headers=headers,
                body="",
                properties={},
                delivery_info={"routing_key": queue, "exchange": ""},
                delivery_tag="1",
                channel=self.channel,
            )
        )
        with self._tracer_told(str(of_job)):
            self.hub.run()

    @contextmanager
    def _tracer_told(self, task_id: str) -> Iterator[None]:
        """Hear from Celery's tracer, by its signals, when the job enters and leaves it."""

        def enters(task_id: str, **_: object) -> None:
            if task_id == wanted:
                self._passed(Station.TRACER)

        def leaves(task_id: str, **_: object) -> None:
            if task_id == wanted:
                self._passed(Station.LOOP)

        wanted = task_id
        signals.task_prerun.connect(enters)
        signals.task_postrun.connect(leaves)
        try:
            yield
        finally:
            signals.task_prerun.disconnect(enters)
            signals.task_postrun.disconnect(leaves)


def bearing_worker(
    process: Runtime, deadly: tuple[type[BaseException], ...] = (), passed: Passed = lambda _: None
) -> InlineWorker:
    """A worker with slots for what its jobs enqueue, which the broker has brought nothing for."""
    seconds = count()
    process.births = Births(process.worker.worker_id, process.lease.length, lambda: float(next(seconds)))
    worker = InlineWorker(process, deadly, passed, serves=[queue.value for queue in Queue], slots=4)
    worker.hub.run()
    return worker


def claim_job(process: Runtime, job_id: UUID) -> ClaimedJob:
    """Claim a job and leave it at that, as a worker in the middle of it."""
    with process.database.pinned() as tx:
        (job,) = ledger.claim(tx, [job_id], process.worker.worker_id, lease=process.lease.length).jobs
    return job


def run_claimed(job: ClaimedJob) -> Report:
    """Run a job that was claimed, as the pool does; returns its report.

    A settlement that the report still carries is not written yet.
    """
    place = MARKERS.take()
    (report,) = perform([job], place)
    MARKERS.free(place)
    return report


MAKE_DUE = (
    "update jobs set run_at = now() where id = %(job)s and state = 'queued'"
    " and run_at > now() and run_at < now() + interval '1 minute'"
)


def run_job(process: Runtime, job_type: Job[Any], job_id: UUID, passed: Passed = lambda _: None) -> str:
    """Run one job as a worker would that got its hint; returns what became of it, as `InlineWorker.run`.

    A retry or a snooze of less than a minute is due at once: no test waits for it.
    """
    with process.database.ledger() as tx:
        tx.raw(MAKE_DUE, {"job": job_id})
    return InlineWorker(process, passed=passed).run(Hint(job_id, job_type.name, job_type.queue.value))
