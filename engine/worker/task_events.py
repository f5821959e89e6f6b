"""Celery's events of tasks, as Flower shows them: made from claims and from what came of them, while somebody listens.

All jobs of a batch are said to have started with the batch; what shares one takes milliseconds.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from celery.worker import state

from domain.jobs.job import ClaimedJob
from engine.worker.execution import Report


class TaskEvents:
    """What one worker command sends of its jobs: ids, names and times, and nothing of their payloads."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        """Send nothing; `attach` comes first. All times are by this clock."""
        self._clock = clock
        self._consumer: Any = None

    def attach(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Send by this consumer's dispatcher: `-E` and `celery control enable_events` turn events of tasks on there."""
        self._consumer = consumer

    @property
    def wanted(self) -> bool:
        """Whether anybody wants events of tasks; from any thread."""
        dispatcher = self._consumer.event_dispatcher
        return dispatcher is not None and dispatcher.enabled and (not dispatcher.groups or "task" in dispatcher.groups)

    def received(self, jobs: Sequence[ClaimedJob]) -> None:
        """Say that these jobs were claimed."""
        if jobs and self.wanted:
            for job in jobs:
                self._send("received", job, name=job.job_type, args="()", kwargs="{}", retries=job.attempt - 1)

    def started(self, jobs: Sequence[ClaimedJob], at: datetime) -> None:
        """Say that these jobs began together."""
        if self.wanted:
            for job in jobs:
                self._send("started", job, at=at)

    def ended(self, ends: Sequence[tuple[ClaimedJob, Report]]) -> None:
        """Say what became of these jobs, and count them for `celery inspect stats`."""
        state.total_count.update(job.job_type for job, report in ends if report.seconds is not None)
        state.all_total_count[0] += sum(report.seconds is not None for _, report in ends)
        if ends and self.wanted:
            for job, report in ends:
                match report.status:
                    case "succeeded":
                        self._send("succeeded", job, result=report.status, runtime=report.seconds)
                    case "canceled":
                        self._send("revoked", job, terminated=False, signum=None, expired=False)
                    case status:
                        kind = "retried" if status in {"queued", "returned"} else "failed"
                        self._send(kind, job, exception=report.reason, traceback="")

    def _send(self, kind: str, job: ClaimedJob, *, at: datetime | None = None, **fields: object) -> None:
        timestamp = (at or self._clock()).timestamp()
        self._consumer.event_dispatcher.send(f"task-{kind}", uuid=str(job.job_id), timestamp=timestamp, **fields)
