"""What travels between a worker's main process and its pool: claimed jobs there, reports on them back."""

import mmap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from celery import Celery, Task, current_app
from celery.app.trace import trace_task

from domain.jobs.job import ClaimedJob
from domain.jobs.lifecycle import Settlement
from domain.orgs.privacy.redaction import redact_text
from engine.catalogue import Job
from engine.celery_patches.task_stack import kept_task_stack
from engine.runtime import runtime
from engine.worker import runner
from engine.worker.runner import AttemptResult

OVERTIME = timedelta(seconds=30)
"""How long a child may outrun its deadline before it is killed; a thread cannot be killed, it only loses its claim."""

HEADER = "attempt"
"""Where a task finds the attempt in its request."""


@dataclass(slots=True)
class Attempt:
    """One claimed job inside Celery's tracer; its task leaves the result here, for the tracer keeps only a text."""

    job: ClaimedJob
    began_at: datetime
    result: AttemptResult | None = None


class Report(NamedTuple):
    """What came of one claimed job in the pool: its status, what is to be written, and the seconds it took."""

    job_id: UUID
    token: UUID
    status: str
    settlement: Settlement | None
    seconds: float | None = None
    instead_of: "Report | None" = None
    """The report that could not be written, where this one is written in its place."""

    @property
    def reason(self) -> str:
        """Why it did not succeed, without secrets, for those who listen to Celery's events."""
        said = self.settlement and (self.settlement.error or self.settlement.detail)
        return redact_text(str(said.get("reason") or said.get("code") or said.get("cause"))) if said else self.status


class Markers:
    """One byte for each batch under way, in memory that forked children share: which of its jobs is running.

    When a child dies, its parent knows by the byte whose fault it was, and which jobs never began.
    """

    WAITING, ENDED = 254, 255

    def __init__(self, size: int) -> None:
        """Make room for so many batches at a time."""
        self._page = mmap.mmap(-1, size)
        self._free = list(range(size))

    def take(self) -> int:
        """A place of one's own; the pool is never given more batches than there are."""
        place = self._free.pop()
        self._page[place] = self.WAITING
        return place

    def free(self, place: int) -> None:
        """Give a place back."""
        self._free.append(place)

    def move(self, place: int, index: int) -> None:
        """Note, in the child, that the batch has come to this job; `ENDED` after the last."""
        self._page[place] = index

    def read(self, place: int) -> int:
        """Where the batch is."""
        return self._page[place]


MARKERS = Markers(16384)
"""This worker command's, inherited over the fork: more than any pool has batches under way."""


def perform(jobs: Sequence[ClaimedJob], place: int) -> list[Report]:
    """Run claimed jobs one after another, each through Celery's own tracer; called in the pool.

    Jobs that have not begun when the worker begins to stop are given back.
    """
    process, known = runtime(), current_app.tasks
    tasks = [known[job.job_type] for job in jobs]
    app = tasks[0].app
    reports = []
    with kept_task_stack(tasks[0]):
        for index, (job, task) in enumerate(zip(jobs, tasks, strict=True)):
            MARKERS.move(place, index)
            if process.stopping.is_set():
                reports.append(Report(job.job_id, job.token, "returned", Settlement.unstarted(job, "shutdown")))
                continue
            began = time.monotonic()
            result = _traced(task, job, process.clock(), app)
            reports.append(Report(job.job_id, job.token, result.status, result.settlement, time.monotonic() - began))
    MARKERS.move(place, Markers.ENDED)
    return reports


def _traced(task: Task, job: ClaimedJob, began_at: datetime, app: Celery) -> AttemptResult:
    attempt = Attempt(job, began_at)
    name = str(job.job_id)
    request = {
        "id": name,
        "task": job.job_type,
        "root_id": name,
        "retries": job.attempt - 1,
        "correlation_id": name,
        "ignore_result": True,
        "is_eager": False,
        "delivery_info": {"routing_key": job.queue},
        "headers": {},
        HEADER: attempt,
    }
    traced = trace_task(task, name, (), {}, request, app=app)
    if attempt.result is not None:
        return attempt.result
    # Celery itself stumbled, or a signal's receiver did, before or instead of the handler.
    return runner.never_ran(runtime(), task.job_type, attempt.job, began_at, str(traced.retval))


def run_in_task(attempt: Attempt, job_type: Job[Any]) -> str:
    """Run the attempt; its result stays with it, and its status is the task's result."""
    attempt.result = runner.run_attempt(runtime(), job_type, attempt.job, attempt.began_at)
    return attempt.result.status
