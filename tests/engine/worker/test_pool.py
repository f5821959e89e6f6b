"""The way into the pool: what becomes of batches that the pool was made to forget."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from billiard.exceptions import WorkerLostError
from celery.concurrency.base import apply_target

from domain.jobs.job import ClaimedJob, Origin
from engine.worker.execution import MARKERS, OVERTIME, Markers, Report
from engine.worker.pool import PoolDispatcher
from engine.worker.task_events import TaskEvents

NOW = datetime(2026, 11, 22, tzinfo=UTC)
JOB = ClaimedJob(
    job_id=uuid4(), token=uuid4(), job_type="probe.run", queue="default", org_id=uuid4(), project_id=None, payload={},
    payload_version=1, attempt=1, max_attempts=5, losses=0, deadline=timedelta(seconds=10), origin=Origin(),
    created_at=NOW, started=False,
)  # fmt: skip


class Clock:
    """A monotonic clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Pool:
    """Takes batches and never begins them."""

    uses_semaphore, num_processes = False, 2

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []

    def apply_async(self, _target: object, **options: Any) -> None:  # noqa: ANN401 - what Celery's pools take
        self.taken.append(options)


def make_dispatcher(
    deliver: Callable[[Sequence[Report]], None], pool: Pool, monotonic: Callable[[], float] = time.monotonic
) -> PoolDispatcher:
    """A dispatcher with this pool; nobody listens to events."""
    consumer, events = SimpleNamespace(pool=pool, event_dispatcher=None), TaskEvents(lambda: NOW)
    dispatcher = PoolDispatcher(deliver, events, lambda: NOW, monotonic)
    dispatcher.attach(consumer)
    events.attach(consumer)
    return dispatcher


@pytest.fixture
def markers() -> Iterator[Markers]:
    """The process's, with two places left."""
    taken = []
    with suppress(IndexError):
        while True:
            taken.append(MARKERS.take())
    for _ in range(2):
        MARKERS.free(taken.pop())
    yield MARKERS
    for place in taken:
        MARKERS.free(place)


def test_a_place_is_used_again_when_no_child_can_write_to_it_any_more(markers: Markers) -> None:
    reports: list[Report] = []

    def deliver(given: Sequence[Report]) -> None:
        reports.extend(given)

    clock, pool = Clock(), Pool()
    dispatcher = make_dispatcher(deliver, pool, clock.monotonic)
    for _ in range(2):
        dispatcher.send([JOB._replace(job_id=uuid4())], 0.001)
    dispatcher.take_back_unsent()
    assert [report.status for report in reports] == ["returned", "returned"]
    with pytest.raises(IndexError):
        markers.take()
    clock.now += (JOB.deadline + OVERTIME).total_seconds() + 1
    for _ in range(2):
        dispatcher.send([JOB._replace(job_id=uuid4())], 0.001)
    first, again = ({options["args"][1] for options in taken} for taken in (pool.taken[:2], pool.taken[2:]))
    assert first == again


def test_a_batch_that_a_child_has_accepted_is_not_taken_back(markers: Markers) -> None:
    reports: list[Report] = []
    pool = Pool()
    dispatcher = make_dispatcher(reports.extend, pool)
    dispatcher.send([JOB], 0.001)
    pool.taken[0]["accept_callback"](1, 0.0)
    dispatcher.take_back_unsent()
    assert (reports, len(dispatcher.under_way)) == ([], 1)
    assert markers.read(pool.taken[0]["args"][1]) == Markers.WAITING


def test_an_exception_that_only_the_callback_of_threads_tells_of_ends_the_batch(markers: Markers) -> None:
    """A handler that raises SystemExit ends no thread; Celery hands the exception to the callback of the answer."""
    reports: list[Report] = []
    pool = Pool()
    dispatcher = make_dispatcher(reports.extend, pool)
    dispatcher.send([JOB], 0.001)
    markers.move(pool.taken[0]["args"][1], 0)

    def leave() -> None:
        raise SystemExit(3)

    apply_target(leave, callback=pool.taken[0]["callback"])
    (report,) = reports
    assert report.settlement is not None
    assert (report.status, report.settlement.loss_delta) == ("queued", 1)
    assert not dispatcher.under_way


def test_a_death_is_charged_to_the_job_that_the_child_had_come_to(markers: Markers) -> None:
    reports: list[Report] = []
    pool = Pool()
    dispatcher = make_dispatcher(reports.extend, pool)
    jobs = [JOB._replace(job_id=uuid4()) for _ in range(3)]
    finished, running, waiting = jobs
    dispatcher.send(jobs, 0.001)
    (taken,) = pool.taken
    taken["accept_callback"](7, 0.0)
    markers.move(taken["args"][1], jobs.index(running))
    ((job, batch),) = dispatcher.running()
    assert (job, batch.pid, batch.began_at) == (running, 7, NOW)
    taken["error_callback"](SimpleNamespace(exception=WorkerLostError("killed"), exc_info=None, traceback=""))
    losses = {one.job_id: one.settlement and one.settlement.loss_delta for one in reports}
    assert losses == {finished.job_id: 0, running.job_id: 1, waiting.job_id: 0}
    assert not dispatcher.under_way


def test_a_long_job_is_not_put_behind_others_in_the_pool(markers: Markers) -> None:
    """Whence it could not be given back; a short one waits there, so that no slot is idle."""
    dispatcher = make_dispatcher(lambda _: None, Pool())
    assert dispatcher.begins_soon(60.0)
    for _ in range(Pool.num_processes):
        dispatcher.send([JOB._replace(job_id=uuid4())], 60.0)
    assert dispatcher.has_room_for(JOB)
    assert dispatcher.begins_soon(0.01)
    assert not dispatcher.begins_soon(60.0)
    assert markers
