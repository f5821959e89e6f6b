"""The request of an ordinary job in Celery's main process: what inspect, revoke, time limits and Flower see of it."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from celery import signals
from celery.exceptions import TaskRevokedError
from celery.worker import state
from celery.worker.request import Request

from domain.job import ClaimedJob
from tasks.attempts import Report, perform

NO_ARGUMENTS: tuple[list[object], dict[str, object], dict[str, object]] = ([], {}, {})
"""The body of every request: what the job is about stands in its claim, and shows in no listing of Celery's."""


class JobRequest(Request):  # type: ignore[misc] # Celery ships no types
    """One claimed job. Its message was acknowledged when the claim was committed."""

    acknowledged = True

    def __init__(
        self,
        message: Any,  # noqa: ANN401 - a kombu message
        job: ClaimedJob,
        *,
        place: int,
        returned: Callable[[Sequence[Report]], None],
        lost: Callable[[BaseException], None],
        **celery: Any,  # noqa: ANN401 - what Celery's own request takes
    ) -> None:
        """`returned` and `lost` are called with what the pool says; in a pool of threads, from any of them."""
        headers = message.headers | {"id": str(job.job_id), "task": job.job_type, "retries": job.attempt - 1}
        super().__init__(message, headers=headers, body=NO_ARGUMENTS, decoded=True, **celery)
        self._job = job
        self._place = place
        self._returned = returned
        self._lost = lost

    def announce(self, consumer: Any) -> None:  # noqa: ANN401 - Celery ships no types
        """Tell Celery's signals, events and listings of a request that was received."""
        signals.task_received.send(sender=consumer, request=self)
        self.send_event("task-received", name=self.name, args="()", kwargs="{}", retries=self._job.attempt - 1)
        state.task_reserved(self)

    def execute_using_pool(self, pool: Any, **_: object) -> Any:  # noqa: ANN401 - Celery's signature
        """Hand the job in; raises `TaskRevokedError` when it was revoked meanwhile."""
        if self.revoked():
            raise TaskRevokedError(self.id)
        result = pool.apply_async(
            perform,
            args=((self._job,), self._place),
            accept_callback=self.on_accepted,
            timeout_callback=self.on_timeout,
            callback=self.on_success,
            error_callback=self.on_failure,
            timeout=self.task.time_limit,
            correlation_id=self.id,
        )
        self._apply_result = None if result is None else ref(result)
        return result

    def on_success(self, reports: Sequence[Report], **_: object) -> None:
        """Pass the report on, and tell Celery's listeners what became of the job."""
        report = reports[0]
        state.task_ready(self, successful=report.word == "succeeded")
        match report.word:
            case "succeeded" | "canceled":
                self.send_event("task-succeeded", result=report.word, runtime=report.seconds)
            case "queued" | "returned":
                self.send_event("task-retried", exception=report.reason, traceback="")
            case _:
                self.send_event("task-failed", exception=report.reason, traceback="")
        self._returned(reports)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - Celery's signature
        """Report a child that is gone, then let Celery do its part."""
        error = getattr(exc_info.exception, "exc", exc_info.exception)
        super().on_failure(exc_info, send_failed_event, return_ok)
        self._lost(error)
